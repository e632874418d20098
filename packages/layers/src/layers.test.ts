// tf.layers made of attention: what tfjs does with layers, they do.
import { causal, slidingWindow } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import * as tfl from '@tensorflow/tfjs-layers';
import { describe, expect, it } from 'vitest';
import { B, E, expectSame, multiHead, normal, S, sequential } from './fixtures/models';

import { AttentionLayer, BlockLayer, PartLayer } from './index';
import { spell, unspell } from './kinds';

describe('saved and loaded, predictions are equal to the bit:', () => {
  const inputShape = [S, E];
  const grouped = { numHeads: 4, numKeyValueHeads: 2 };
  it.each<[string, () => tfl.layers.Layer]>([
    ['multi-head', () => new AttentionLayer({ attention: multiHead, inputShape })],
    [
      'multi-head, causal, by flash',
      () =>
        new AttentionLayer({
          attention: { ...multiHead, parts: { kernel: { kind: 'flash' } } },
          mask: { kind: 'causal' },
          inputShape,
        }),
    ],
    [
      'grouped-query with rotary in a window',
      () =>
        new AttentionLayer({
          attention: {
            kind: 'GroupedQueryAttention',
            config: grouped,
            parts: { position: rotary({ headDim: 2 }) },
          },
          mask: slidingWindow({ left: 2, right: 0 }),
          inputShape,
        }),
    ],
    [
      'a made layer with a name',
      () =>
        new AttentionLayer({
          attention: new GroupedQueryAttention({ embedDim: E, ...grouped }, { name: 'Block_0/Attention' }),
          inputShape,
        }),
    ],
    [
      'relative positions, with variables of their own',
      () =>
        new AttentionLayer({
          attention: {
            kind: 'MultiHeadAttention',
            config: { numHeads: 2 },
            parts: { position: { kind: 't5', config: { numHeads: 2 } } },
          },
          inputShape,
        }),
    ],
    [
      'tables of distances',
      () =>
        new AttentionLayer({
          attention: { kind: 'RelativePositionAttention', config: { numHeads: 2, maxRelativePosition: 3 } },
          inputShape,
        }),
    ],
    [
      'a block',
      () =>
        new BlockLayer({
          block: {
            kind: 'TransformerBlock',
            config: {
              norm: { kind: 'rms' },
              feedForward: { hiddenDim: 12, gated: true, activation: 'silu' },
            },
            parts: { attention: { kind: 'GroupedQueryAttention', config: grouped } },
          },
          mask: causal(),
          inputShape,
        }),
    ],
    ['a norm', () => new PartLayer({ part: { kind: 'RmsNorm' }, inputShape })],
    ['a norm with an offset', () => new PartLayer({ part: { kind: 'LayerNorm' }, inputShape })],
    ['a linear map', () => new PartLayer({ part: { kind: 'Dense', config: { outputDim: 3 } }, inputShape })],
    [
      'a feed-forward layer',
      () => new PartLayer({ part: { kind: 'FeedForward', config: { hiddenDim: 9 } }, inputShape }),
    ],
  ])('%s', async (_, make) => {
    const before = tf.memory().numTensors;
    const model = sequential(make());
    const x = normal([B, S, E], 1);
    await expectSame(model, x);
    x.dispose();
    model.dispose();
    expect(tf.memory().numTensors).toBeLessThanOrEqual(before + 2); // what predict gave
  });
});

describe('AttentionLayer', () => {
  it('gives what the layer of Polyhead gives, and its weights are the same variables', () => {
    const attention = new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 1, useBias: true });
    const { numTensors } = tf.memory();
    const layer = new AttentionLayer({ attention, mask: causal(), inputShape: [S, E], name: 'attention' });
    const model = sequential(layer);
    expect(tf.memory().numTensors).toBe(numTensors);
    const x = normal([B, S, E], 2);
    const wanted = attention.apply({ query: x }, { mask: causal() }).output.dataSync();
    expect((model.predict(x) as tf.Tensor).dataSync()).toEqual(wanted);
    expect(model.weights.map(({ originalName }) => originalName)).toEqual(
      attention.variables.map(({ name }) => `attention/${name}`),
    );
    model.weights.forEach((weight, n) => {
      expect(weight.read()).toBe(attention.variables[n]!.variable);
    });
    expect(model.dispose().numDisposedVariables).toBe(8);
    expect(attention.variables.every(({ variable }) => variable.isDisposed)).toBe(true);
  });

  it('attends to keys and values of other widths, and gives weights', async () => {
    const shapes = [
      [S, E],
      [3, 6],
      [3, 4],
    ];
    const inputs = shapes.map((shape) => tfl.input({ shape }));
    const layer = new AttentionLayer({ attention: multiHead, returnWeights: true });
    const outputs = layer.apply(inputs) as tfl.SymbolicTensor[];
    expect(outputs.map(({ shape }) => shape)).toEqual([
      [null, S, E],
      [null, 2, S, 3],
    ]);
    const model = tfl.model({ inputs, outputs });
    const tensors = shapes.map((shape, n) => normal([B, ...shape], n));
    const [, weights] = model.predict(tensors) as tf.Tensor[];
    const sums = Array.from(tf.sum(weights!, -1).dataSync());
    expect(Math.max(...sums.map((sum) => Math.abs(sum - 1)))).toBeLessThan(1e-6);
    await expectSame(model, tensors);
  });

  it('attends over two axes as over one', () => {
    const attention = new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 1 });
    const model = sequential(new AttentionLayer({ attention, axes: [1, 2], inputShape: [2, 3, E] }));
    const x = normal([B, 2, 3, E], 2);
    const wanted = attention.apply({ query: tf.reshape(x, [B, 6, E]) }).output.dataSync();
    expect((model.predict(x) as tf.Tensor).dataSync()).toEqual(wanted);
  });

  it('attends within columns as within sequences', () => {
    const attention = new MultiHeadAttention({ embedDim: E, numHeads: 2, seed: 1 });
    const model = sequential(new AttentionLayer({ attention, axes: [1], inputShape: [2, 3, E] }));
    const x = normal([B, 2, 3, E], 2);
    const columns = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [B * 3, 2, E]);
    const { output } = attention.apply({ query: columns });
    const wanted = tf.transpose(tf.reshape(output, [B, 3, 2, E]), [0, 2, 1, 3]).dataSync();
    expect((model.predict(x) as tf.Tensor).dataSync()).toEqual(wanted);
  });
});

it('spells any JSON without capitals and underscores', () => {
  const value = { name: 'Block_0/^Query', list: ['__A', 'É', '^^'] };
  expect(spell(value)).not.toMatch(/[\p{Lu}_]/u);
  expect(unspell(spell(value))).toEqual(value);
});
