// Weights of models whose rotary pairs lie otherwise: the columns of each head of a query or key projection, reordered.
import { ConfigError, ShapeError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** Which numbers of a projection are pairs. */
export interface PairingOptions {
  /** Heads of the projection: Hq of queries, Hkv of keys. */
  readonly numHeads: number;
  /** How many numbers of a head are turned. Default: all. */
  readonly rotaryDim?: number | undefined;
}

/**
 * From pairs (2i, 2i + 1) to pairs (i, i + rotaryDim / 2): products of queries and keys stay the same.
 *
 * @param x kernel [in, H * D] or bias [H * D] of queries or keys
 * @returns the same shape; the caller disposes it
 * @throws ConfigError, ShapeError
 */
export function toHalfSplitPairs(x: tf.Tensor, options: PairingOptions): tf.Tensor {
  return reordered('toHalfSplitPairs', x, options, (n, pairs) => (n < pairs ? 2 * n : 2 * (n - pairs) + 1));
}

/** The inverse of `toHalfSplitPairs`. */
export function toInterleavedPairs(x: tf.Tensor, options: PairingOptions): tf.Tensor {
  return reordered('toInterleavedPairs', x, options, (n, pairs) =>
    n % 2 === 0 ? n / 2 : pairs + (n - 1) / 2,
  );
}

/** @param source where the nth number of a head comes from */
function reordered(
  where: string,
  x: tf.Tensor,
  options: PairingOptions,
  source: (n: number, pairs: number) => number,
): tf.Tensor {
  const known = ['numHeads', 'rotaryDim'] as const;
  const { numHeads, rotaryDim } = normalizeOptions(where, 'options', options, known) as PairingOptions;
  checkSizes(where, { numHeads });
  if (!(x instanceof tf.Tensor) || x.isDisposed || (x.rank !== 1 && x.rank !== 2)) {
    throw new ShapeError(where, 'x must be a living tensor, a kernel [in, H * D] or a bias [H * D]', { x });
  }
  const D = x.shape.at(-1)! / numHeads;
  if (!Number.isInteger(D)) throw new ShapeError(where, 'x must be numHeads heads wide', { x, numHeads });
  const turned = rotaryDim ?? D;
  checkSizes(where, { rotaryDim: turned });
  if (turned % 2 !== 0 || turned > D) {
    throw new ConfigError(where, 'rotaryDim must be even, and at most the size of a head', {
      rotaryDim: turned,
      D,
    });
  }
  const columns = Int32Array.from({ length: numHeads * D }, (_, column) => {
    const n = column % D;
    return column - n + (n < turned ? source(n, turned / 2) : n);
  });
  return tf.tidy(() => tf.gather(x, tf.tensor1d(columns, 'int32'), x.rank - 1));
}
