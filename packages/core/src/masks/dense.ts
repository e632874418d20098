import type * as tf from '@tensorflow/tfjs-core';
import { checkDenseTensor } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';

/**
 * Any mask as a tensor: true (or 1) where a query may attend. It stays the caller's: keep it until the call is done.
 *
 * @param mask bool, or int32 of 0 and 1: [Sq, Skv], or rank 4 that broadcasts to [B, Hq, Sq, Skv]
 * @throws ShapeError for rank 3, which could mean two things, and for floats, which are a `bias`; in a call of other sizes
 * @throws ConfigError where it is written as JSON
 */
export const dense = /* @__PURE__ */ withKind('dense', ['mask'], (mask: tf.Tensor): Mask => {
  checkDenseTensor('dense', mask);
  return {
    name: 'dense',
    perBatch: false,
    perHead: false,
    spans: ({ end }) => [[-Infinity, end]],
    dense: [mask],
    toJSON() {
      const rule =
        'a tensor cannot be written as JSON: use masks that are described, or pass it at each call';
      throw new ConfigError('dense', rule, { mask });
    },
  };
});
