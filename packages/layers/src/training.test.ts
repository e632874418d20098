// Models with these layers, trained by tfjs.
import * as tf from '@tensorflow/tfjs-core';
import * as tfl from '@tensorflow/tfjs-layers';
import { describe, expect, it } from 'vitest';
import { E, expectSame, multiHead, normal, S, sequential } from './fixtures/models';

import { AttentionLayer, BlockLayer, EmbeddingLayer, PartLayer } from './index';

describe('training', () => {
  it('learns, keeps memory flat, and goes on alike after saving', async () => {
    const before = tf.memory().numTensors;
    const config = { norm: { kind: 'rms' }, feedForward: { hiddenDim: 32 }, dropout: 0.05, seed: 5 };
    const attention = { kind: 'MultiHeadAttention', config: { numHeads: 2, seed: 4, dropout: 0.05 } };
    const model = sequential(
      new EmbeddingLayer({
        embedding: { kind: 'Embedding', config: { vocabularySize: 8, embedDim: 16, seed: 2 } },
        positions: { kind: 'sinusoidal' },
        inputShape: [6],
        dtype: 'int32',
      }),
      new BlockLayer({ block: { kind: 'TransformerBlock', config, parts: { attention } } }),
      new PartLayer({ part: { kind: 'RmsNorm' } }),
      tfl.layers.dense({
        units: 8,
        activation: 'softmax',
        kernelInitializer: tfl.initializers.glorotUniform({ seed: 1 }),
      }),
    );
    // Each token's answer is the token before it, and the first's is its own.
    const tokens = tf.tidy(() => tf.cast(tf.randomUniform([128, 6], 0, 8, 'float32', 3), 'int32'));
    const answers = tf.tidy(() =>
      tf.expandDims(tf.concat([tf.slice(tokens, [0, 0], [-1, 1]), tf.slice(tokens, [0, 0], [-1, 5])], 1), -1),
    );
    const optimizer = tf.train.adam(0.02);
    model.compile({ optimizer, loss: 'sparseCategoricalCrossentropy', metrics: ['accuracy'] });
    const options = { batchSize: 32, verbose: 0, shuffle: false } as const;
    const floats = tf.cast(answers, 'float32');
    const { history } = await model.fit(tokens, floats, { ...options, epochs: 10 });
    const { numTensors } = tf.memory();
    await model.fit(tokens, floats, { ...options, epochs: 2 });
    expect(tf.memory().numTensors).toBe(numTensors);
    const accuracy = history.acc as number[];
    expect(accuracy.at(-1)).toBeGreaterThan(0.5);
    await expectSame(model, tf.slice(tokens, [0, 0], [3, 6]));
    model.summary(80, undefined, () => {});
    model.dispose();
    optimizer.dispose();
    tf.dispose([tokens, answers, floats]);
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(3); // what predict gave, and a slice
  });

  it('gives every weight a gradient, and none to those that are not trained', async () => {
    const layer = new AttentionLayer({ attention: multiHead, inputShape: [S, E], trainable: false });
    const model = sequential(layer, tfl.layers.dense({ units: 1 }));
    expect(model.trainableWeights).toHaveLength(2);
    layer.trainable = true;
    expect(model.trainableWeights).toHaveLength(10);
    model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
    const first = layer.getWeights().map((weight) => Array.from(weight.dataSync()));
    await model.fit(normal([4, S, E], 1), normal([4, S, 1], 2), { epochs: 1, verbose: 0 });
    const names = layer.weights.map(({ originalName }) => originalName);
    layer.getWeights().forEach((weight, n) => {
      // A bias of keys adds the same to all scores of a row.
      if (!names[n]!.endsWith('key/bias')) expect(Array.from(weight.dataSync())).not.toEqual(first[n]);
    });
  });
});
