// The block against its formulas, put together from layers with the same weights.
import { expectSameMemory, memoryNow, seededRandom } from '@polyhead/conformance';
import { type Attention, causal, fromConfig } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { FeedForward, LayerNorm } from '../index';
import { type AttentionFactoryParts, type BlockOptions, TransformerBlock } from './transformer-block';

const E = 6;
const attention = (parts: AttentionFactoryParts): Attention =>
  new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 3 }, parts);
const options: BlockOptions = {
  embedDim: E,
  norm: { kind: 'layer' },
  feedForward: { hiddenDim: 10, activation: 'relu' },
  seed: 7,
};
const tokens = (S: number, seed: number): tf.Tensor3D => {
  const next = seededRandom(seed);
  return tf.tensor3d(
    Float32Array.from({ length: 2 * S * E }, () => 2 * next() - 1),
    [2, S, E],
  );
};
const numbers = (tensor: tf.Tensor) => [...tensor.dataSync()];
const close = (tensor: tf.Tensor) => numbers(tensor).map((x) => expect.closeTo(x, 5));

/** A block whose norms are no longer all the same, and the layers it is made of. */
function blockAndLayers(own: Partial<BlockOptions>, isCross = false) {
  const block = new TransformerBlock(
    { ...options, ...own },
    { attention, ...(isCross && { crossAttention: attention }) },
  );
  for (const [n, { variable }] of block.variables.entries())
    if (variable.rank === 1)
      variable.assign(tf.add(variable, tf.randomUniform(variable.shape, -0.5, 0.5, 'float32', n)));
  const weights = block.getWeights();
  const below = (name: string) =>
    Object.fromEntries(
      Object.entries(weights)
        .filter(([key]) => key.startsWith(`${name}/`))
        .map(([key, tensor]) => [key.slice(name.length + 1), tensor]),
    );
  const norm = (name: string) => {
    const layer = new LayerNorm({ size: E });
    layer.setWeights(below(name));
    return (x: tf.Tensor3D) => layer.apply(x);
  };
  const forward = new FeedForward({ embedDim: E, hiddenDim: 10, activation: 'relu' });
  forward.setWeights(below('feedForward'));
  const attend = (name: string) => {
    const layer = attention({ name: 'other', initializer: undefined });
    layer.setWeights(below(name));
    return (x: tf.Tensor3D, key?: tf.Tensor3D) => layer.apply({ query: x, key }).output;
  };
  return { block, norm, attend, forward: (x: tf.Tensor3D) => forward.apply(x) };
}

describe('TransformerBlock', () => {
  it('pre: x + f(norm(x))', () => {
    const { block, norm, attend, forward } = blockAndLayers({});
    const x = tokens(4, 1);
    const y = tf.add(x, attend('attention')(norm('attentionNorm')(x))) as tf.Tensor3D;
    const z = tf.add(y, forward(norm('feedForwardNorm')(y)));
    const { output, kernels } = block.apply(x);
    expect(numbers(output)).toEqual(close(z));
    expect(kernels).toEqual(['composed']);
  });

  it('post: norm(x + f(x))', () => {
    const { block, norm, attend, forward } = blockAndLayers({ normPlacement: 'post' });
    const x = tokens(4, 1);
    const y = norm('attentionNorm')(tf.add(x, attend('attention')(x)));
    const z = norm('feedForwardNorm')(tf.add(y, forward(y)));
    expect(numbers(block.apply(x).output)).toEqual(close(z));
  });

  it('sandwich: x + outputNorm(f(norm(x)))', () => {
    const { block, norm, attend, forward } = blockAndLayers({ normPlacement: 'sandwich' });
    const x = tokens(4, 1);
    const attended = norm('attentionOutputNorm')(attend('attention')(norm('attentionNorm')(x)));
    const y = tf.add(x, attended) as tf.Tensor3D;
    const z = tf.add(y, norm('feedForwardOutputNorm')(forward(norm('feedForwardNorm')(y))));
    expect(numbers(block.apply(x).output)).toEqual(close(z));
  });

  it('parallel: x + attention(norm(x)) + feedForward(norm(x))', () => {
    const { block, norm, attend, forward } = blockAndLayers({ parallel: true });
    const x = tokens(4, 1);
    const attended = attend('attention')(norm('attentionNorm')(x));
    const z = tf.add(tf.add(x, attended), forward(norm('feedForwardNorm')(x)));
    expect(numbers(block.apply(x).output)).toEqual(close(z));
  });

  it('attends to an encoder between the two, by a cache that is filled once too', () => {
    const { block, norm, attend, forward } = blockAndLayers({}, true);
    const [x, memory] = [tokens(4, 1), tokens(5, 2)];
    const y = tf.add(x, attend('attention')(norm('attentionNorm')(x))) as tf.Tensor3D;
    const informed = tf.add(
      y,
      attend('crossAttention')(norm('crossAttentionNorm')(y), memory),
    ) as tf.Tensor3D;
    const z = close(tf.add(informed, forward(norm('feedForwardNorm')(informed))));
    expect(numbers(block.apply(x, { memory }).output)).toEqual(z);
    const crossCache = new GrowingCache(block.crossAttention!.cacheShape(2));
    expect(numbers(block.apply(x, { memory, crossCache }).output)).toEqual(z);
    expect(crossCache.sealed).toBe(true);
    expect(numbers(block.apply(x, { crossCache }).output)).toEqual(z);
    expect(() => block.apply(x)).toThrow(/cross-attention needs a memory, or a sealed cache/);
    crossCache.dispose();
  });

  it('drops numbers in training alone, by its seed', () => {
    const block = new TransformerBlock({ ...options, dropout: 0.5 }, { attention });
    const x = tokens(4, 1);
    const of = (seed?: number) =>
      numbers(block.apply(x, { ...(seed !== undefined && { training: { seed } }) }).output);
    expect(of()).toEqual(of());
    expect(of(1)).toEqual(of(1));
    expect(of(1)).not.toEqual(of(2));
    expect(of(1)).not.toEqual(of());
  });

  it('drops the same numbers in a gradient as in the call', () => {
    const withDropout = (parts: AttentionFactoryParts): Attention =>
      new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 3, dropout: 0.3 }, parts);
    const smooth = { ...options, dropout: 0.3, feedForward: { hiddenDim: 10 } };
    const block = new TransformerBlock(smooth, { attention: withDropout });
    const factors = tokens(4, 2);
    const loss = (x: tf.Tensor): tf.Scalar =>
      tf.sum(tf.mul(block.apply(x, { training: { seed: 5 } }).output, factors));
    const [x, direction] = [tokens(4, 1), tokens(4, 3)];
    const slope = tf.sum(tf.mul(tf.grad(loss)(x), direction)).dataSync()[0]!;
    const at = (step: number) => loss(tf.add(x, tf.mul(direction, step))).dataSync()[0]!;
    const [near, far] = [0.01, 0.02].map((step) => (at(step) - at(-step)) / (2 * step)) as [number, number];
    expect((4 * near - far) / 3 / slope).toBeCloseTo(1, 3); // central differences, without their second power
    expect(Math.abs(slope)).toBeGreaterThan(0.1);
  });

  it('leaves its result alone, and disposes all', () => {
    const before = memoryNow();
    const block = new TransformerBlock(options, { attention, name: 'block0' });
    expect(block.variables.map(({ name }) => name)).toContain('block0/attention/query/kernel');
    const x = tokens(4, 1);
    const held = memoryNow();
    block.apply(x, { mask: causal() }).output.dispose();
    expectSameMemory(held);
    expect(() => block.apply(x, { positions: [], cache: {} as never })).toThrow();
    expectSameMemory(held);
    block.dispose();
    x.dispose();
    expectSameMemory(before);
  });

  it('is made again from JSON', () => {
    const block = new TransformerBlock(options, { attention, name: 'block0' });
    const again = fromConfig<TransformerBlock>(JSON.parse(JSON.stringify(block)), [
      TransformerBlock,
      MultiHeadAttention,
    ]);
    expect(again.variables.map(({ name }) => name)).toEqual(block.variables.map(({ name }) => name));
    const x = tokens(4, 1);
    expect(numbers(again.apply(x).output)).toEqual(numbers(block.apply(x).output));
  });

  it.each<[Partial<BlockOptions>, RegExp]>([
    [{ embedDim: 0 }, /embedDim must be a whole number above 0/],
    [{ norm: { kind: 'batch' as never } }, /norm.kind must be one of layer, rms/],
    [{ normPlacement: 'between' as never }, /normPlacement must be one of pre, post, sandwich/],
    [{ parallel: true, normPlacement: 'post' }, /parallel needs normPlacement 'pre'/],
    [{ dropout: 1 }, /dropout must be at least 0 and below 1/],
    [
      { feedForward: { hiddenDim: 4, activation: 'tanh' as never } },
      /activation must be one of relu, gelu, geluTanh, silu/,
    ],
  ])('refuses %j', (own, message) => {
    const before = memoryNow();
    expect(() => new TransformerBlock({ ...options, ...own }, { attention })).toThrow(message);
    expectSameMemory(before);
  });

  it('refuses what is no attention', () => {
    expect(() => new TransformerBlock(options, { attention: (() => ({})) as never })).toThrow(
      /parts.attention must be attention, or a function/,
    );
  });
});
