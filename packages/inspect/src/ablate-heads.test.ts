import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { type Attention, causal, type LayerCall, type LayerInputs, type LayerResult } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { ablateHeads } from './ablate-heads';

const config = {
  embedDim: 6,
  numHeads: 3,
  headDim: 4,
  valueHeadDim: 5,
  outputDim: 7,
  useBias: true,
  seed: 3,
};

function layerAndInputs() {
  const layer = new MultiHeadAttention(config);
  const bias = tf.randomNormal([7], 0, 1, 'float32', 8);
  layer.setWeights({ ...layer.getWeights(), 'output/bias': bias });
  const query = tf.randomNormal<tf.Rank.R3>([2, 5, 6], 0, 1, 'float32', 1);
  const key = tf.randomNormal<tf.Rank.R3>([2, 4, 6], 0, 1, 'float32', 2);
  return { layer, inputs: { query, key } };
}

describe('ablateHeads', () => {
  it('gives the change of really zeroing the rows of each head in the output projection', async () => {
    const { layer, inputs } = layerAndInputs();
    const call = { mask: causal() };
    const changes = await ablateHeads(layer, inputs, call);
    expect(changes).toHaveLength(3);
    for (const [h, change] of changes.entries()) {
      expect(change).toBeGreaterThan(0.05);
      expect(change).toBeCloseTo(changeByZeroing(layer, { inputs, call, h }), 5);
    }
    layer.dispose();
  });

  it('is 0 for a head whose values are zeros, and 1 for the only one left', async () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, seed: 1 });
    const weights = layer.getWeights();
    const firstHead = tf.concat([tf.ones([6, 3]), tf.zeros([6, 3])], 1);
    layer.setWeights({ ...weights, 'value/kernel': tf.mul(weights['value/kernel']!, firstHead) });
    const query = tf.randomNormal<tf.Rank.R3>([1, 4, 6], 0, 1, 'float32', 1);
    const [first, second] = await ablateHeads(layer, { query });
    expect(first).toBeCloseTo(1, 6);
    expect(second).toBe(0);
    expect(await ablateHeads(layer, { query: tf.zeros([1, 4, 6]) })).toEqual([0, 0]);
    layer.dispose();
  });

  it('runs the layer once and leaves nothing in memory, neither when the layer refuses', async () => {
    const { layer, inputs } = layerAndInputs();
    let calls = 0;
    const counted = withApply(layer, (...args) => {
      calls++;
      return layer.apply(...args);
    });
    const before = memoryNow();
    await ablateHeads(counted, inputs, { returns: ['weights', 'logSumExp'] });
    expectSameMemory(before);
    expect(calls).toBe(1);
    await expect(ablateHeads(layer, { ...inputs, value: tf.ones([1, 1, 6]) })).rejects.toThrow(
      /value must have/,
    );
    layer.dispose();
  });

  it('refuses a layer that does not project its heads', async () => {
    const { layer, inputs } = layerAndInputs();
    const headless = withApply(layer, (...args) => {
      const { headOutputs: _, ...result } = layer.apply(...args) as LayerResult;
      return result as never;
    });
    await expect(ablateHeads(null as never, inputs)).rejects.toThrow(/layer must be an Attention/);
    const before = memoryNow();
    await expect(ablateHeads(headless, inputs)).rejects.toThrow(/it does not return headOutputs/);
    const other = { ...headless, apply: layer.apply.bind(layer), getWeights: () => ({}) };
    await expect(ablateHeads(other, inputs)).rejects.toThrow(/it has no variable output\/kernel/);
    const narrow = { ...other, getWeights: () => ({ 'output/kernel': tf.ones([5, 7]) }) };
    await expect(ablateHeads(narrow, inputs)).rejects.toThrow(/output\/kernel has 5 rows, the heads 15/);
    expectSameMemory(before);
    layer.dispose();
  });
});

function changeByZeroing(
  layer: Attention,
  { inputs, call, h }: { readonly inputs: LayerInputs; readonly call: LayerCall; readonly h: number },
): number {
  const weights = layer.getWeights();
  const ofHead = Array.from({ length: 15 }, (_, row) => [Number(Math.floor(row / 5) !== h)]);
  const whole = layer.apply(inputs, call).output;
  layer.setWeights({ ...weights, 'output/kernel': tf.mul(weights['output/kernel']!, tf.tensor2d(ofHead)) });
  const silenced = layer.apply(inputs, call).output;
  layer.setWeights(weights);
  return tf.div(tf.norm(tf.sub(whole, silenced)), tf.norm(whole)).dataSync()[0]!;
}

/** The layer with another `apply`. */
function withApply(layer: Attention, apply: Attention['apply']): Attention {
  return {
    config: layer.config,
    variables: layer.variables,
    apply,
    cacheShape: (batch) => layer.cacheShape(batch),
    getWeights: () => layer.getWeights(),
    setWeights: (weights) => layer.setWeights(weights),
    dispose: () => layer.dispose(),
  };
}
