// One typed wrapper of tfjs's customGrad.
import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from './errors';

/** Why no second-order gradient is given. */
export const secondOrder = 'it would be silently wrong: tfjs takes saved outputs for constants';

/**
 * `forward` of the inputs, whose gradient is `backward`. Both run untaped; the result depends on nothing but the inputs.
 *
 * @param backward the gradient of each input, in their order, from the gradient of the result
 * @throws UnsupportedError inside a gradient of a gradient
 */
export function differentiable<T extends tf.Tensor>(
  inputs: readonly tf.Tensor[],
  forward: (inputs: tf.Tensor[]) => T,
  backward: (gradient: T, inputs: tf.Tensor[]) => tf.Tensor[],
): T {
  if (tf.engine().state.gradientDepth > 1) {
    throw new UnsupportedError('gradient', 'a gradient of a gradient is not supported', [secondOrder]);
  }
  const taped = tf.customGrad((...args) => {
    const save = args.pop() as unknown as tf.GradSaveFunc; // tfjs passes it as the last argument
    const tensors = args as tf.Tensor[];
    save(tensors);
    return {
      value: forward(tensors),
      gradFunc: (gradient, saved) => tf.tidy(() => backward(gradient as T, saved)),
    };
  });
  return taped(...inputs) as T;
}
