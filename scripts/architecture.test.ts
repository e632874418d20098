import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AttentionKernel, causal, composed } from '../packages/core/src/index';
import { flash } from '../packages/flash/src/index';
import { MultiHeadAttention } from '../packages/multi-head/src/index';
import { type MaskPath, maskFilesOfAssembly, maskPath } from './mask-path';
import { root } from './packages';

/** Blocks of ARCHITECTURE.md that begin with "```text mask NAME": a file a line, from `packages`, and what it does. */
function filesNamed(kernel: string): string[] {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const block = text.match(new RegExp(`^\`\`\`text mask ${kernel}\n(.*?)^\`\`\``, 'ms'))?.[1] ?? '';
  return block.match(/^\S+/gm) ?? [];
}

function watch(kernel: AttentionKernel): Promise<MaskPath> {
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2 }, { kernel });
  const query = tf.ones<tf.Rank.R3>([2, 6, 8]);
  return maskPath(() => layer.apply({ query }, { mask: causal() }).output.dataSync());
}

beforeAll(async () => {
  tf.env().set('PROD', true);
  await tf.setBackend('wasm');
});

describe.each([
  { kernel: composed(), most: 10, assembly: [] },
  { kernel: flash(), most: 14, assembly: maskFilesOfAssembly('flash/src/wasm/assembly') },
])('ARCHITECTURE names the files between a mask and numbers: $kernel.name', ({ kernel, most, assembly }) => {
  const named = filesNamed(kernel.name);

  it(`at most ${most}, which exist`, () => {
    expect(named).not.toEqual([]);
    expect(named.length).toBeLessThanOrEqual(most);
    expect(named.filter((file) => !existsSync(join(root, 'packages', file)))).toEqual([]);
  });

  it('all that a call passes, and no other', async () => {
    const { ran, handle } = await watch(kernel);
    expect([...handle, ...assembly].filter((file) => !named.includes(file))).toEqual([]);
    expect(named.filter((file) => !ran.includes(file) && !assembly.includes(file))).toEqual([]);
  });
});
