// Variables that start at 0, because their numbers are loaded.
import type { Initializer } from '@polyhead/core';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** An initializer for models whose weights are loaded: no random numbers are drawn for them, and nothing passes through JavaScript. */
export const zeros = /* @__PURE__ */ withKind(
  'zeros',
  [],
  (): Initializer => (shape) => tf.fill([...shape], 0),
);
