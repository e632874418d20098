import { describe, expect, it } from 'vitest';
import { missingPeer } from '../../../../../scripts/peers/import-peer';
import { allowedError } from '../../measure/relative-error';
import { type Enter, openArena } from '../arena';
import type { AttentionWork } from '../attention-work';
import { isAbsent } from '../contestant';
import { jaxAttention } from './jax-js';
import { onnxruntimeNodeOps, onnxruntimeWebOps } from './onnxruntime';
import { polyheadKernels } from './polyhead';
import { pytorchOps } from './pytorch';
import { composedOnTensorflow } from './tensorflow';
import { tunedTfjs } from './tfjs-wasm';

const prompt: AttentionWork = { heads: 4, keyValueHeads: 4, queries: 7, keys: 7, headDim: 8, causal: true };
const grouped: AttentionWork = { ...prompt, keyValueHeads: 2 };
const step: AttentionWork = { ...grouped, queries: 1, causal: false };
const training: AttentionWork = { ...prompt, gradients: true };

/** What takes part, with its error and the time of one turn; a reason of one line for who does not. */
async function meet(enter: Enter, work: AttentionWork): Promise<string[]> {
  const arena = openArena(work, 1);
  const entries = await enter(arena);
  const present: string[] = [];
  for (const entry of entries) {
    if (isAbsent(entry)) {
      expect(entry.reason).toMatch(/^\S.*$/);
      continue;
    }
    expect(await entry.error!()).toBeLessThan(allowedError);
    expect((await entry.turn()).ms).toBeGreaterThan(0);
    present.push(entry.op);
  }
  for (const entry of entries) if (!isAbsent(entry)) await entry.dispose();
  arena.dispose();
  return present;
}

describe('in this process', () => {
  it('tfjs by hand', async () => {
    expect(await meet(tunedTfjs, prompt)).toEqual(['a product a head']);
    expect(await meet(tunedTfjs, grouped)).toEqual(['a product a head']);
    expect(await meet(tunedTfjs, step)).toEqual(['batched', 'a matrix a head']);
    expect(await meet(tunedTfjs, training)).toEqual(['a product a head']);
  });

  it('our kernels', async () => {
    const kernels = polyheadKernels('flash', 'plain', 'composed');
    const names = ['flash', 'flash, plain SIMD', 'composed'];
    for (const work of [prompt, grouped, step, training]) expect(await meet(kernels, work)).toEqual(names);
  });

  it('onnxruntime, native', async ({ skip }) => {
    skip(missingPeer('onnxruntime-node') !== undefined, missingPeer('onnxruntime-node'));
    const flashes = ['Attention', 'GroupQueryAttention'];
    expect(await meet(onnxruntimeNodeOps, prompt)).toEqual(['MultiHeadAttention', ...flashes]);
    expect(await meet(onnxruntimeNodeOps, grouped)).toEqual(flashes);
    expect(await meet(onnxruntimeNodeOps, step)).toEqual(['Attention', 'Attention, folded']);
  });

  it('onnxruntime, WebAssembly', async ({ skip }) => {
    skip(missingPeer('onnxruntime-web') !== undefined, missingPeer('onnxruntime-web'));
    expect(await meet(onnxruntimeWebOps, prompt)).toEqual(['MultiHeadAttention', 'Attention']);
    expect(await meet(onnxruntimeWebOps, grouped)).toEqual(['Attention']);
    expect(await meet(onnxruntimeWebOps, step)).toEqual(['Attention', 'Attention, folded']);
  });

  it('jax-js, where Node is new enough', async ({ skip }) => {
    skip(missingPeer('@jax-js/jax') !== undefined, missingPeer('@jax-js/jax'));
    const newEnough = Number.parseInt(process.versions.node, 10) >= 22;
    expect(await meet(jaxAttention, prompt)).toEqual(newEnough ? ['dotProductAttention, jit'] : []);
  });
});

describe('in another process, where it is installed', { timeout: 120_000 }, () => {
  it('PyTorch', async () => {
    const present = await meet(pytorchOps, prompt);
    if (present.length === 0) return;
    expect(present).toEqual(['scaled_dot_product_attention']);
    expect(await meet(pytorchOps, grouped)).toEqual(['enable_gqa', 'expanded']);
    expect(await meet(pytorchOps, step)).toEqual(['enable_gqa', 'expanded', 'folded']);
    expect(await meet(pytorchOps, training)).toEqual(['scaled_dot_product_attention']);
  });

  it('TensorFlow', async () => {
    const present = await meet(composedOnTensorflow, grouped);
    if (present.length === 0) return;
    expect(present).toEqual(['composed']);
    expect(await meet(composedOnTensorflow, training)).toEqual(['composed']);
  });
});
