// The published layers' attention computed twice, by the model's own graph and by `MultiHeadAttention`, and compared.
import { validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { PublishedModel } from '../published/model';
import type { AttentionRecord } from '../published/sentence-encoder';

/** Largest absolute difference between the graph's numbers and ours. */
export interface Difference {
  readonly weights: number;
  readonly output: number;
}

/** What two orders of float32 summation differ by in a short sentence; scores of 30 and outputs of 40 differ by more. */
const expectedDifference: Difference = { weights: 3e-7, output: 1.5e-5 };
export const allowedDifference: Difference = {
  weights: 10 * expectedDifference.weights,
  output: 10 * expectedDifference.output,
};

export interface Reproduction {
  readonly sentences: number;
  readonly tokens: number;
  readonly layers: readonly Difference[];
}

/** One layer's attention on a batch: our weights, [B, H, S, S], which the caller disposes, and how far they are off. */
export type LayerReproduction = { readonly weights: tf.Tensor4D; readonly difference: Difference };

export async function reproduceBatch(
  model: PublishedModel,
  batch: readonly (readonly number[])[],
): Promise<LayerReproduction[]> {
  const lengths = batch.map((ids) => ids.length);
  const records = await model.record(batch);
  const reproductions = records.map((record, layer) => reproduceLayer(model, layer, record, lengths));
  for (const record of records) tf.dispose(record);
  return reproductions;
}

function reproduceLayer(
  model: PublishedModel,
  layer: number,
  record: AttentionRecord,
  lengths: readonly number[],
): LayerReproduction {
  return tf.tidy(() => {
    const call = { mask: validLengths(lengths), returns: ['weights'] as const };
    const { output, weights } = model.layers[layer]!.apply({ query: record.input }, call);
    const difference = {
      weights: largestDifference(weights!, record.weights),
      output: largestDifference(output, record.output),
    };
    return { weights: weights!, difference };
  });
}

/** Reproduces the attention of many sentences, `batchSize` at a time. */
export async function reproduceSentences(
  model: PublishedModel,
  sentences: readonly string[],
  onBatch: (done: number) => void = () => {},
): Promise<Reproduction> {
  const batchSize = 16;
  const encoded = sentences.map((sentence) => model.tokenize(sentence).tokens.map(({ id }) => id));
  let layers: readonly Difference[] = model.layers.map(() => ({ weights: 0, output: 0 }));
  for (let start = 0; start < encoded.length; start += batchSize) {
    const reproduced = await reproduceBatch(model, encoded.slice(start, start + batchSize));
    for (const { weights } of reproduced) weights.dispose();
    layers = layers.map((worst, layer) => larger(worst, reproduced[layer]!.difference));
    onBatch(Math.min(start + batchSize, encoded.length));
  }
  const tokens = encoded.reduce((sum, ids) => sum + ids.length, 0);
  return { sentences: sentences.length, tokens, layers };
}

/** The layers that are further from the graph than float32 explains; NaN always is. */
export function wrongParts({ layers }: Reproduction): string[] {
  return layers.flatMap((difference, layer) =>
    (['weights', 'output'] as const)
      .filter((part) => !(difference[part] <= allowedDifference[part]))
      .map((part) => {
        const [off, allowed] = [difference[part], allowedDifference[part]].map((x) => x.toExponential(1));
        return `layer ${layer + 1}: ${part} off by ${off}, more than the ${allowed} allowed`;
      }),
  );
}

const larger = (a: Difference, b: Difference): Difference => ({
  weights: Math.max(a.weights, b.weights),
  output: Math.max(a.output, b.output),
});

// On the host: a backend that computes NaN must not be the one to judge it. Math.max keeps NaN.
function largestDifference(actual: tf.Tensor, expected: tf.Tensor): number {
  tf.util.assertShapesMatch(actual.shape, expected.shape, 'largestDifference: ');
  const [a, b] = [actual.dataSync(), expected.dataSync()];
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}
