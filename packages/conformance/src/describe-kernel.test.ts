// The suite, tried on kernels that are known to be wrong: each fault is noticed by the check that is there for it.
import {
  type AttentionKernel,
  composed,
  type KernelCall,
  type KernelResult,
  type MaskPlan,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import type { Refusable } from './cases';
import type { Check } from './check';
import { kernelChecks } from './describe-kernel';

function changed(change: Partial<AttentionKernel>): AttentionKernel {
  return { ...composed(), name: 'wrong', ...change };
}

/** `composed`, given another call than was asked for. */
const asked = (call: (given: KernelCall) => KernelCall) =>
  changed({ run: (given) => composed().run(call(given)) });

/** `composed`, with something done to its result. */
const answered = (answer: (result: KernelResult, call: KernelCall) => KernelResult) =>
  changed({ run: (call) => answer(composed().run(call), call) });

const without = (option: keyof KernelCall) => asked((call) => withoutOption(call, option));

const detached = (x: tf.Tensor4D) => tf.tensor4d(x.dataSync() as Float32Array, x.shape);

function checksNamed(
  kernel: AttentionKernel,
  sentence: RegExp,
  refused: readonly Refusable[] = [],
): readonly Check[] {
  const found = kernelChecks(() => kernel, refused).filter(({ name }) => sentence.test(name));
  expect(found.length).toBeGreaterThan(0);
  return found;
}

/** True where at least one of the checks of this name throws. */
async function isNoticed(kernel: AttentionKernel, sentence: RegExp): Promise<boolean> {
  for (const { run } of checksNamed(kernel, sentence)) {
    try {
      await run();
    } catch {
      return true;
    }
  }
  return false;
}

describe('the suite notices a kernel that', () => {
  const smallest = /^equals the oracle: B2 Hq2 Hkv1/;
  const faults: readonly (readonly [fault: string, kernel: AttentionKernel, check: RegExp])[] = [
    ...(['bias', 'softcap', 'sinkLogits', 'dropout'] as const).map(
      (option) => [`drops ${option}`, without(option), new RegExp(`^does not drop ${option}$`)] as const,
    ),
    ['returns nothing but the output', without('returns'), /^does not drop (weights|logSumExp)$/],
    ['takes scale 0 for no scale', asked((call) => ({ ...call, scale: call.scale || 1 })), /scale 0/],
    [
      'sees every pair',
      asked((call) => ({ ...call, plan: seeingAll(call) })),
      /^never lets a future key matter/,
    ],
    ['is off by a hundred thousandth', answered((result) => scaled(result, 1.00001)), smallest],
    [
      'loses the gradient of keys',
      asked((call) => ({ ...call, inputs: { ...tensorsOf(call), key: detached(tensorsOf(call).key) } })),
      /^gradients agree with central differences: B2 Hq2 Hkv1/,
    ],
    [
      'gives the mean of the values for a row that sees nothing',
      answered((result, call) => ({
        ...result,
        output: tf.add(result.output, tf.mean(tensorsOf(call).value)),
      })),
      /^gives exact zeros/,
    ],
    [
      'multiplies hidden values by 0',
      answered((result, call) => ({
        ...result,
        output: tf.add(result.output, tf.mul(tf.sum(tensorsOf(call).value), 0)),
      })),
      /^never lets NaN/,
    ],
    [
      'mixes batch entries',
      answered((result) => ({
        ...result,
        output: tf.add(result.output, tf.mul(tf.sum(result.output), 1e-6)),
      })),
      /^keeps batch entries apart$/,
    ],
    ['sees the first key only', asked((call) => ({ ...call, plan: seeingFirst(call) })), /another order$/],
    [
      'lets gradients of gradients pass',
      changed({
        unsupported: () => [],
        run: ({ inputs: { query } }) => ({ output: tf.square(query) }),
      }),
      /^refuses gradients of gradients/,
    ],
    ['drops relative tables', without('relative'), /relative tables/],
    [
      'keeps a tensor',
      answered((result) => {
        tf.keep(tf.zeros([1]));
        return result;
      }),
      /^leaves its inputs alone/,
    ],
    [
      'disposes its inputs',
      answered((result, call) => {
        tensorsOf(call).query.dispose();
        return result;
      }),
      /^leaves its inputs alone/,
    ],
  ];

  it.each(faults)('%s', async (_, kernel, check) => {
    expect(await isNoticed(kernel, check)).toBe(true);
    expect(await isNoticed(composed(), check)).toBe(false);
  });
});

describe('an option refused by design', () => {
  const kernel = changed({
    unsupported: (call) => [...composed().unsupported(call), ...(call.dropout ? ['no dropout here'] : [])],
  });

  it('is left out of all cases and must be refused with a reason', async () => {
    const checks = checksNamed(kernel, /dropout/, ['dropout']);
    expect(checks.map(({ name }) => name)).toEqual(['refuses dropout with a reason']);
    for (const { run } of checks) await run();
  });

  it('is missed where the suite is not told', async () => {
    expect(await isNoticed(kernel, /^does not drop dropout$/)).toBe(true);
  });

  it('is noticed when it starts to work', async () => {
    const [check] = checksNamed(composed(), /^refuses dropout/, ['dropout']);
    await expect(check!.run()).rejects.toThrow('nothing was thrown');
  });
});

function withoutOption(call: KernelCall, option: keyof KernelCall): KernelCall {
  return Object.fromEntries(
    Object.entries(call).filter(([name]) => name !== option),
  ) as unknown as KernelCall;
}

function tensorsOf({ inputs }: KernelCall) {
  return inputs as Exclude<KernelCall['inputs'], { stored: object }>;
}

function scaled(result: KernelResult, factor: number): KernelResult {
  return { ...result, output: tf.mul(result.output, factor) };
}

/** A plan that hides nothing. */
function seeingAll(call: KernelCall): MaskPlan {
  const { query, key } = tensorsOf(call);
  const [Sq, Skv] = [query.shape[2], key.shape[2]];
  const spans = Int32Array.from({ length: Sq * 2 }, (_, n) => (n % 2) * Skv);
  return { ...call.plan, shape: [1, 1, Sq, 1], spans, full: true, dense: [] };
}

/** A plan of one key, whichever it is. */
function seeingFirst(call: KernelCall): MaskPlan {
  const plan = seeingAll(call);
  return { ...plan, full: false, spans: plan.spans.map((column) => Math.min(column, 1)) };
}
