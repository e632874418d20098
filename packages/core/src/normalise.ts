// Normalisation of queries and keys before their products.
import * as tf from '@tensorflow/tfjs-core';

/** How queries and keys are normalised, over each head or over all heads of a token. */
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
 * Along the last axis.
 *
 * @param x [..., N]
 * @param gain [N], for `rms` and `layer`
 * @param offset [N], for `layer`
 */
export function normalise<T extends tf.Tensor>(
  x: T,
  { kind, epsilon = 1e-6 }: QueryKeyNorm,
  { gain, offset }: { readonly gain?: tf.Tensor | undefined; readonly offset?: tf.Tensor | undefined },
): T {
  return tf.tidy(() => {
    const centred: T = kind === 'layer' ? tf.sub(x, tf.mean(x, -1, true)) : x;
    const squares = tf.square(centred);
    const size = kind === 'l2' ? tf.sum(squares, -1, true) : tf.mean(squares, -1, true);
    const normal: T = tf.div(centred, tf.sqrt(tf.add(size, epsilon)));
    const scaled: T = gain ? tf.mul(normal, gain) : normal;
    return offset ? tf.add(scaled, offset) : scaled;
  });
}
