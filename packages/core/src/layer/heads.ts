// Splitting an embedding into heads and back.
import * as tf from '@tensorflow/tfjs-core';
import { addressOnHeap, emptyOnHeap, hasWasmHeap, heapMemory, reshaped, wordsOf } from '../backend/wasm-heap';
import { checkSizes } from '../checks/check-config';
import { checkTensor } from '../checks/check-tensor';
import { ShapeError } from '../contract/errors';

/**
 * Head h owns the contiguous channels [h D, (h + 1) D).
 *
 * @param x [B, S, H * D]
 * @returns [B, H, S, D]
 * @throws ShapeError where the width is not a multiple of the number of heads
 */
export function splitHeads(x: tf.Tensor, numHeads: number): tf.Tensor4D {
  checkTensor('splitHeads', 'x', x, ['[B, S, H * D]']);
  checkSizes('splitHeads', { numHeads });
  const [B, S, width] = x.shape as [number, number, number];
  if (width % numHeads !== 0) {
    throw new ShapeError('splitHeads', 'the width must be a multiple of the number of heads', {
      x,
      numHeads,
    });
  }
  const size = width / numHeads;
  if (S === 1 || numHeads === 1) return reshaped<tf.Rank.R4>(x, [B, numHeads, S, size]);
  return tf.tidy(() => swapped(tf.reshape(x, [B, S, numHeads, size])));
}

/** Heads side by side in each token, as a product leaves them: split where somebody needs them so. */
export class UnsplitHeads {
  /** [B, H, S, D], as they are once they are split. */
  readonly shape: [number, number, number, number];
  private whole: tf.Tensor4D | undefined;

  /** @param merged [B, S, H * D] */
  constructor(
    readonly merged: tf.Tensor3D,
    numHeads: number,
  ) {
    const [B, S, width] = merged.shape;
    this.shape = [B, numHeads, S, width / numHeads];
  }

  /** @returns [B, H, S, D], the same at each call */
  split(): tf.Tensor4D {
    this.whole ??= splitHeads(this.merged, this.shape[1]);
    return this.whole;
  }
}

/** Heads as they are given, or as they are once they are split: [B, H, S, D]. */
export function splitAs(heads: tf.Tensor4D | UnsplitHeads): tf.Tensor4D {
  return heads instanceof UnsplitHeads ? heads.split() : heads;
}

/**
 * The inverse of `splitHeads`.
 *
 * @param heads [B, H, S, D]
 * @returns [B, S, H * D]
 * @throws ShapeError for another rank
 */
export function mergeHeads(heads: tf.Tensor): tf.Tensor3D {
  checkTensor('mergeHeads', 'heads', heads, ['[B, H, S, D]']);
  const [B, H, S, D] = heads.shape as Shape4;
  if (S === 1 || H === 1) return reshaped<tf.Rank.R3>(heads, [B, S, H * D]);
  return tf.tidy(() => tf.reshape(swapped(heads as tf.Tensor4D), [B, S, H * D]));
}

/**
 * The other layout of the field, [B, S, H, D], as [B, H, S, D].
 *
 * @param x [B, S, H, D]
 * @returns [B, H, S, D]
 * @throws ShapeError for another rank
 */
export function fromSequenceMajor(x: tf.Tensor): tf.Tensor4D {
  checkTensor('fromSequenceMajor', 'x', x, ['[B, S, H, D]']);
  return swapped(x as tf.Tensor4D);
}

type Shape4 = [number, number, number, number];

/** [A, B, C, D] as [A, C, B, D]; of one row that is another shape alone. wasm cannot transpose what holds nothing. */
function swapped(x: tf.Tensor4D): tf.Tensor4D {
  const [a, b, c, d] = x.shape;
  if (b === 1 || c === 1 || x.size === 0) return reshaped(x, [a, c, b, d]);
  const isTaped = tf.engine().state.gradientDepth > 0;
  const movesRows = !isTaped && d >= longRow && x.dtype === 'float32' && hasWasmHeap();
  return movesRows ? rowsSwapped(x) : tf.transpose(x, [0, 2, 1, 3]);
}

// From here on a row is moved in less time than its numbers one by one, as the operation does it.
const longRow = 32;

function rowsSwapped(x: tf.Tensor4D): tf.Tensor4D {
  const [a, b, c, d] = x.shape;
  const result = emptyOnHeap<tf.Rank.R4>([a, c, b, d]);
  const [from, to] = [addressOnHeap(x) / 4, addressOnHeap(result) / 4];
  const { floats } = wordsOf(heapMemory()!);
  for (let i = 0, row = from; i < a; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < c; k++, row += d) floats.copyWithin(to + ((i * c + k) * b + j) * d, row, row + d);
    }
  }
  return result;
}
