// Moby Dick as bytes, windows of it that a decoder learns from, and the loss of its next bytes. The last chapters are held out.
import type { AttentionKernel } from '@polyhead/core';
import type { Decoder } from '@polyhead/transformer';
import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs-core';
import { mobyDickChapters } from '../published/moby-dick';

/** Windows of a text, of one token more than the model sees: the last is only ever a target. */
export type Rows = readonly (readonly number[])[];

export interface WindowSize {
  readonly batch: number;
  /** Tokens that the model sees. */
  readonly length: number;
}

const heldOutChapters = 5;

export function mobyDickBytes(): { readonly training: Uint8Array; readonly heldOut: Uint8Array } {
  const chapters = mobyDickChapters().map((chapter) => Buffer.from(`${chapter.trim()}\n\n`));
  return {
    training: Buffer.concat(chapters.slice(0, -heldOutChapters)),
    heldOut: Buffer.concat(chapters.slice(-heldOutChapters)),
  };
}

/** Batches of random windows of bytes, or of tokens; the same ones for a seed. */
export function randomWindows(
  text: Uint8Array | Int32Array,
  { batch, length }: WindowSize,
  seed: number,
): () => Rows {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // a linear congruential generator: Press et al. 1992
    return state / 2 ** 32;
  };
  return () =>
    Array.from({ length: batch }, () =>
      windowAt(text, length, Math.floor(random() * (text.length - length))),
    );
}

/** Batches of windows that lie evenly over the text. */
export function evenWindows(text: Uint8Array, { batch, length }: WindowSize, batches: number): Rows[] {
  const step = (text.length - length - 1) / Math.max(1, batch * batches - 1);
  return Array.from({ length: batches }, (_, n) =>
    Array.from({ length: batch }, (_, b) => windowAt(text, length, Math.floor((n * batch + b) * step))),
  );
}

const windowAt = (text: Uint8Array | Int32Array, length: number, start: number) => [
  ...text.subarray(start, start + length + 1),
];

/** In nats a byte, or a token, with a gradient. */
export function lossOf(model: Decoder, rows: Rows, kernel?: AttentionKernel): tf.Scalar {
  const ids = tf.tensor2d(
    rows.map((row) => row.slice(0, -1)),
    undefined,
    'int32',
  );
  const { logits } = model.apply(ids, kernel ? { kernel } : {});
  return crossEntropy(
    logits,
    rows.map((row) => row.slice(1)),
  );
}

/** Mean over batches of one size, in nats a byte. */
export async function meanLoss(
  model: Decoder,
  batches: readonly Rows[],
  kernel?: AttentionKernel,
): Promise<number> {
  let sum = 0;
  for (const rows of batches) {
    const loss = tf.tidy(() => lossOf(model, rows, kernel));
    sum += (await loss.data())[0]!;
    loss.dispose();
  }
  return sum / batches.length;
}
