import * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { Mask } from '../contract/mask';

/** @throws ShapeError for a tensor, ConfigError for anything else that is no mask */
export function checkMask(where: string, mask: Mask): void {
  if (mask instanceof tf.Tensor) {
    const rule =
      'a tensor is no mask: give dense(mask), or a `bias` where its numbers are to be added to scores';
    throw new ShapeError(where, rule, { mask });
  }
  if (typeof mask === 'object' && mask !== null && typeof mask.spans === 'function') return;
  throw new ConfigError(where, 'mask must be a Mask, such as causal()', { mask });
}
