import * as tf from '@tensorflow/tfjs-core';
import { ShapeError } from '../contract/errors';
import type { Mask } from '../contract/mask';

/**
 * Any mask as a tensor: true (or 1) where a query may attend. It stays the caller's: keep it until the call is done.
 *
 * @param mask bool, or int32 of 0 and 1: [Sq, Skv], or rank 4 that broadcasts to [B, Hq, Sq, Skv]
 * @throws ShapeError for rank 3, which could mean two things, and for floats, which are a `bias`
 */
export function dense(mask: tf.Tensor): Mask {
  if (!(mask instanceof tf.Tensor)) throw new ShapeError('dense', 'mask must be a tensor', { mask });
  if (mask.isDisposed) throw new ShapeError('dense', 'mask must not be disposed', { mask });
  if (mask.dtype !== 'bool' && mask.dtype !== 'int32') {
    throw new ShapeError('dense', 'mask must be bool or int32; numbers to be added to scores are a `bias`', {
      mask,
    });
  }
  if (mask.rank !== 2 && mask.rank !== 4) {
    throw new ShapeError('dense', 'mask must be [Sq, Skv], or rank 4 and broadcast to [B, Hq, Sq, Skv]', {
      mask,
    });
  }
  return {
    name: 'dense',
    perBatch: false,
    perHead: false,
    spans: ({ end }) => [[-Infinity, end]],
    dense: [mask],
    check({ batch, heads, queries, keys }) {
      if (mask.isDisposed) throw new ShapeError('dense', 'mask must not be disposed', { mask });
      const wanted = [batch, heads, queries, keys];
      const fits =
        mask.rank === 2
          ? mask.shape[0] === queries && mask.shape[1] === keys
          : mask.shape.every((size, i) => size === 1 || size === wanted[i]);
      if (fits) return;
      throw new ShapeError('dense', 'mask must broadcast to [B, Hq, Sq, Skv]', {
        mask,
        '[B, Hq, Sq, Skv]': wanted,
      });
    },
  };
}
