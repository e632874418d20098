// Normalization of queries and keys before their products.
import * as tf from '@tensorflow/tfjs-core';
import { addBroadcast } from '../backend/add-broadcast';
import { zeroRowsWithoutGradient } from '../backend/rows-without-gradient';
import { ShapeError } from '../contract/errors';
import { differentiable } from '../kernel/gradient';

/** How queries and keys are normalized, over each head or over all heads of a token. */
export interface QueryKeyNorm {
  /**
   * `rms`: x / sqrt(mean(x²) + ε) · gain (Zhang and Sennrich 2019, 1910.07467).
   * `layer`: (x - mean) / sqrt(variance + ε) · gain + offset (Ba et al. 2016, 1607.06450).
   * `l2`: x / sqrt(sum(x²) + ε) (Henry et al. 2020, 2010.04245).
   */
  readonly kind: 'rms' | 'layer' | 'l2';
  /** ε. Default: 1e-6. */
  readonly epsilon?: number;
  /** Default: `head`, the D numbers of a head; `all` takes the H * D numbers of a token. */
  readonly over?: 'head' | 'all';
}

/**
 * Numbers of one size along the last axis.
 *
 * @param x [..., N]
 * @param weights `gain` [N] of `rms` and `layer`, `offset` [N] of `layer`. Default: 1 and 0
 * @throws ShapeError for what is no tensor
 */
export function normalize<T extends tf.Tensor>(
  x: T,
  norm: QueryKeyNorm,
  weights: { readonly gain?: tf.Tensor | undefined; readonly offset?: tf.Tensor | undefined },
): T {
  if (!(x instanceof tf.Tensor) || x.rank === 0)
    throw new ShapeError('normalize', 'x must be a tensor [..., N]', { x });
  const { gain, offset } = weights;
  return tf.tidy(() => {
    const scaled = differentiable<T>(
      { inputs: gain ? [x, gain] : [x] },
      ([y, g]) => {
        const { normal } = normalOf(y as T, norm);
        return g ? tf.mul(normal, g) : normal;
      },
      (gradient, [y, g]) => {
        const active = zeroRowsWithoutGradient(y as T, gradient);
        if (!g) return [normalGradient(gradient, active, norm)];
        const ofGain = tf.mul(gradient, normalOf(active, norm).normal); // [..., N]
        return [
          normalGradient(tf.mul<T>(gradient, g), active, norm),
          x.size === 0 ? tf.zerosLike(g) : tf.sum(tf.reshape(ofGain, [-1, g.size]), 0),
        ];
      },
    );
    return offset ? addBroadcast(scaled, offset) : scaled;
  });
}

/** x / size, about its mean where the kind asks for it. */
function normalOf<T extends tf.Tensor>(
  x: T,
  { kind, epsilon = 1e-6 }: QueryKeyNorm,
): { normal: T; size: tf.Tensor } {
  const centered: T = kind === 'layer' ? tf.sub(x, tf.mean(x, -1, true)) : x;
  const squares = tf.square(centered);
  const mean = kind === 'l2' ? tf.sum(squares, -1, true) : tf.mean(squares, -1, true);
  const size = tf.sqrt(tf.add(mean, epsilon)); // [..., 1]
  return { normal: tf.div(centered, size), size };
}

/** With n the normal: (d - n mean(d n)) / size, the sum for `l2` in place of the mean; about its mean for `layer`. */
function normalGradient<T extends tf.Tensor>(gradient: T, x: T, norm: QueryKeyNorm): T {
  const { normal, size } = normalOf(x, norm);
  const products = tf.mul(gradient, normal);
  const along = norm.kind === 'l2' ? tf.sum(products, -1, true) : tf.mean(products, -1, true);
  const ofCentered: T = tf.div(tf.sub(gradient, tf.mul(normal, along)), size);
  return norm.kind === 'layer' ? tf.sub(ofCentered, tf.mean(ofCentered, -1, true)) : ofCentered;
}
