// One typed wrapper of tfjs's customGrad.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { UnsupportedError } from '../contract/errors';

/** Why no second-order gradient is given. */
export const secondOrder = 'it would be silently wrong: tfjs takes saved outputs for constants';

/**
 * Whether this call stands in a gradient.
 *
 * @throws UnsupportedError inside a gradient when tfjs has none registered, which tfjs-core alone does not do
 */
export function isTaped(where: string): boolean {
  if (tf.engine().state.gradientDepth === 0) return false;
  if (tf.getGradient('Reshape')) return true;
  throw new UnsupportedError(where, "gradients need tfjs's own; add: import '@tensorflow/tfjs'", [
    '@tensorflow/tfjs-core alone registers no gradients',
  ]);
}

/**
 * `forward` of the inputs, whose gradient is `backward`. Both run untaped.
 *
 * @param constants tensors that `backward` needs beside the inputs: without a gradient, kept until it has run
 * @param backward the gradient of each input, in their order, from the gradient of the result
 * @throws UnsupportedError inside a gradient of a gradient
 */
export function differentiable<T extends tf.Tensor>(
  {
    inputs,
    constants = [],
  }: { readonly inputs: readonly tf.Tensor[]; readonly constants?: readonly tf.Tensor[] },
  forward: (inputs: tf.Tensor[]) => T,
  backward: (gradient: T, inputs: tf.Tensor[], constants: tf.Tensor[]) => tf.Tensor[],
): T {
  const { gradientDepth } = tf.engine().state;
  if (gradientDepth === 0) return tf.tidy(() => forward([...inputs]));
  if (gradientDepth > 1) {
    throw new UnsupportedError('gradient', 'a gradient of a gradient is not supported', [secondOrder]);
  }
  const taped = tf.customGrad((...args) => {
    const save = args.pop() as unknown as tf.GradSaveFunc; // tfjs passes it as the last argument
    const tensors = args as tf.Tensor[];
    const value = forward(tensors);
    save([...tensors, ...constants]); // after what may throw: nothing else would dispose what is saved
    return {
      value,
      gradFunc: (gradient, saved) =>
        cleanTidy(() => backward(gradient as T, saved.slice(0, inputs.length), saved.slice(inputs.length))),
    };
  });
  return taped(...inputs) as T;
}
