import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { UnsupportedError } from '../contract/errors';
import type { AttentionKernel } from '../contract/kernel';
import { attend } from './attend';
import { firstSupported } from './first-supported';

function kernel(name: string, answers: Partial<AttentionKernel> = {}): AttentionKernel {
  return { name, unsupported: () => [], run: (call) => composed().run(call), ...answers };
}

const refusing = (name: string) => kernel(name, { unsupported: () => [`${name} has its reason`] });
const heads = (): tf.Tensor4D => tf.randomNormal([1, 2, 3, 4], 0, 1, 'float32', 1);
const inputs = () => ({ query: heads(), key: heads(), value: heads() });

describe('firstSupported', () => {
  it('runs the first that can, and names it', () => {
    const chosen = firstSupported([refusing('one'), kernel('two'), kernel('three')]);
    expect(attend(chosen, inputs()).kernel).toBe('two');
    expect(attend(composed(), inputs()).kernel).toBe('composed');
  });

  it('lets one step aside, but never into a refusal', () => {
    const slow = kernel('slow', { worthwhile: () => false });
    expect(attend(firstSupported([slow, kernel('fast')]), inputs()).kernel).toBe('fast');
    expect(attend(firstSupported([slow, refusing('fast')]), inputs()).kernel).toBe('slow');
  });

  it('explains why the earlier ones did not run, without running any', () => {
    const never = () => {
      throw new Error('explain must not run a kernel');
    };
    const chosen = firstSupported([
      refusing('one'),
      kernel('two', { worthwhile: () => false, run: never }),
      kernel('three', { notes: () => ['one thread'], run: never }),
      kernel('four', { run: never }),
    ]);
    expect(chosen.explain(inputs())).toEqual([
      { kernel: 'one', reasons: ['one has its reason'], notes: [] },
      { kernel: 'two', reasons: ['it could run, but the next candidate is faster for this call'], notes: [] },
      { kernel: 'three', reasons: [], notes: ['one thread'] },
    ]);
  });

  it('throws the reasons of all where none can', () => {
    const chosen = firstSupported([refusing('one'), refusing('two')]);
    expect(() => attend(chosen, inputs())).toThrow(UnsupportedError);
    expect(() => attend(chosen, inputs())).toThrow(/one: one has its reason[\s\S]*two: two has its reason/);
    expect(() => attend(firstSupported([]), inputs())).toThrow(/there is no candidate/);
  });

  it('prepares all that can be prepared, and disposes all', async () => {
    const done: string[] = [];
    const chosen = firstSupported([
      kernel('broken', { prepare: () => Promise.reject(new Error('no module')) }),
      kernel('sound', {
        prepare: async () => {
          done.push('prepared');
        },
        dispose: () => done.push('disposed'),
      }),
    ]);
    await chosen.prepare?.();
    chosen.dispose?.();
    expect(done).toEqual(['prepared', 'disposed']);
  });

  it('leaves no tensor behind by explaining', () => {
    const heads = inputs();
    const before = tf.memory().numTensors;
    firstSupported([composed()]).explain(heads);
    expect(tf.memory().numTensors).toBe(before);
  });
});
