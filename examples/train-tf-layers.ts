// A model of tf.layers that learns to repeat the token before: built, trained, tested on sequences that it never saw, saved and
// loaded. In a project of one's own these imports are all that it needs.
import { causal } from '@polyhead/core';
import { AttentionLayer, EmbeddingLayer, PartLayer, registerLayers } from '@polyhead/layers';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { sinusoidal } from '@polyhead/relative-position';
import { Embedding, RmsNorm } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';

await tf.setBackend('wasm');
registerLayers([MultiHeadAttention, Embedding, RmsNorm, sinusoidal, causal]);

const tokens = 8;
const length = 6;
const embedding = { kind: 'Embedding', config: { vocabularySize: tokens, embedDim: 32, seed: 1 } };
const attention = { kind: 'MultiHeadAttention', config: { numHeads: 2, seed: 2 } };

// Where tokens stand is added to what they are; attention may look back only.
const input = tf.input({ shape: [length], dtype: 'int32' });
const embedded = new EmbeddingLayer({ embedding, positions: { kind: 'sinusoidal' } }).apply(input);
const normed = new PartLayer({ part: { kind: 'RmsNorm' } }).apply(embedded);
const attended = new AttentionLayer({ attention, mask: causal(), name: 'attention' }).apply(normed);
const scores = tf.layers.dense({
  units: tokens,
  activation: 'softmax',
  kernelInitializer: tf.initializers.glorotUniform({ seed: 3 }),
});
const model = tf.model({ inputs: input, outputs: scores.apply(attended) as tf.SymbolicTensor });
model.compile({
  optimizer: tf.train.adam(0.02),
  loss: 'sparseCategoricalCrossentropy',
  metrics: ['accuracy'],
});

// The answer at each place is the token before; at the first, the token itself.
const draw = (count: number, seed: number) =>
  tf.tidy(() => {
    const x = tf.cast(tf.randomUniform([count, length], 0, tokens, 'float32', seed), 'int32');
    const before = tf.concat([tf.slice(x, [0, 0], [-1, 1]), tf.slice(x, [0, 0], [-1, length - 1])], 1);
    return { x, y: tf.cast(tf.expandDims(before, -1), 'float32') };
  });
const [seen, unseen] = [draw(256, 4), draw(64, 5)];
const { history } = await model.fit(seen.x, seen.y, {
  epochs: 20,
  batchSize: 32,
  shuffle: false,
  verbose: 0,
});
console.log(Number(history.loss![0]) > 1, Number(history.loss!.at(-1)) < 0.2); // true true
const [, accuracy] = model.evaluate(unseen.x, unseen.y, { verbose: 0 }) as tf.Scalar[];
console.log((await accuracy!.data())[0]! > 0.95); // true

let saved: tf.io.ModelArtifacts | undefined;
await model.save(
  tf.io.withSaveHandler(async (artifacts) => {
    saved = artifacts;
    return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } };
  }),
);
const again = await tf.loadLayersModel(tf.io.fromMemory(saved!));
const [one, two] = await Promise.all([model, again].map((m) => (m.predict(unseen.x) as tf.Tensor).data()));
console.log(one!.every((value, n) => value === two![n])); // true
