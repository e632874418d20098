// Two trained models for claims on what heads do: a published sentence encoder, and the decoder that learned Moby Dick.
import type { AttentionKernel } from '@polyhead/core';
import { exactWeights, flash, withStatistics } from '@polyhead/flash';
import type { Decoder } from '@polyhead/transformer';
import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import { byteTokenizer, loadOwnModel } from '../model/own/own-model';
import { mobyDickChapters, mobyDickSentences } from '../published/moby-dick';
import { loadPublishedModel, type PublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';

export const mean = (numbers: readonly number[]) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

export async function withEncoder<T>(work: (model: PublishedModel) => Promise<T>): Promise<T> {
  const model = await loadPublishedModel(readModelFiles());
  try {
    return await work(model);
  } finally {
    model.dispose();
  }
}

export async function withDecoder<T>(work: (model: Decoder) => Promise<T> | T): Promise<T> {
  const model = await loadOwnModel();
  try {
    return await work(model);
  } finally {
    model.dispose();
  }
}

/** Windows of chapters, evenly spread; those of the last ones training has not seen. */
export const heldOutRows = (count: number, length: number) =>
  rowsOf(mobyDickChapters().slice(-3), count, length);

export function rowsOf(chapters: readonly string[], count: number, length: number): number[][] {
  const text = [...(byteTokenizer.encode(chapters.join('\n\n')) as readonly number[])];
  const stride = Math.floor((text.length - length) / count);
  return Array.from({ length: count }, (_, n) => text.slice(n * stride, n * stride + length));
}

/** Weights of every head over one row of bytes, layer by layer: [H, S, S] each. */
export function decoderHeads(model: Decoder, row: readonly number[]): number[][][][] {
  const layers: number[][][][] = [];
  const kernel = withStatistics(flash(), { weights: exactWeights() }, ({ weights }) =>
    layers.push((weights.arraySync() as number[][][][])[0]!),
  );
  tf.tidy(() => void model.apply(tf.tensor2d([[...row]], undefined, 'int32'), { kernel }));
  return layers;
}

/** Sentences of 13 tokens and more, encoded; shorter maps can look like a pattern by chance. */
export function sentencesOf(model: PublishedModel, count: number): number[][] {
  const encode = (sentence: string) => model.tokenize(sentence);
  const fits = (sentence: string) => {
    const { tokens, unknown } = encode(sentence);
    return unknown.length === 0 && tokens.length >= 13 && tokens.length <= 24;
  };
  return mobyDickSentences(count, fits).map((sentence) => encode(sentence).tokens.map(({ id }) => id));
}

export async function encoderHeads(model: PublishedModel, ids: readonly number[]): Promise<number[][][][]> {
  const records = await model.record([ids]);
  const layers = records.map(({ weights }) => (weights.arraySync() as number[][][][])[0]!);
  for (const record of records) tf.dispose(record);
  return layers;
}

export const lossOf = (
  model: Decoder,
  rows: readonly (readonly number[])[],
  kernel: AttentionKernel = flash(),
) =>
  crossEntropy(
    model.apply(
      tf.tensor2d(
        rows.map((row) => row.slice(0, -1)),
        undefined,
        'int32',
      ),
      { kernel },
    ).logits,
    rows.map((row) => row.slice(1)),
  );

export const nats = (model: Decoder, rows: readonly (readonly number[])[]) =>
  tf.tidy(() => lossOf(model, rows).dataSync()[0]!);

/** What heads add to the output is multiplied by these factors, [H] for each block. */
export function setShares(
  model: Decoder,
  originals: readonly tf.Tensor[],
  shares: readonly (readonly number[])[],
): void {
  tf.tidy(() => {
    outputsOf(model).forEach((variable, block) => {
      const original = originals[block]!;
      const H = shares[block]!.length;
      const factors = tf.reshape(
        tf.tile(tf.tensor2d([...shares[block]!], [H, 1]), [1, original.shape[0]! / H]),
        [-1, 1],
      );
      variable.assign(tf.mul(original, factors));
    });
  });
}

export const outputsOf = (model: Decoder) =>
  model.variables.filter(({ name }) => name.endsWith('output/kernel')).map(({ variable }) => variable);
