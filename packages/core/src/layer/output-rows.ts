// Which rows of the output projection belong to which head: the output is the sum of what heads add through theirs.
import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from '../contract/errors';
import type { Attention } from '../contract/layer';

/**
 * The output projection of a layer by heads: `headOutputs[:, h] rows[h]`, summed over heads, is its output without the bias.
 *
 * @param headOutputs [B, H, S, Dv], what the layer returned, if it did
 * @returns rows [H, Dv, outputDim], and the bias [outputDim] where there is one: copies, which the caller or its tidy disposes
 * @throws UnsupportedError unless the output is a projection of all heads side by side
 */
export function outputRows(
  where: string,
  layer: Attention,
  headOutputs: tf.Tensor4D | undefined,
): { readonly rows: tf.Tensor3D; readonly bias: tf.Tensor1D | undefined } {
  return tf.tidy(() => {
    const { 'output/kernel': kernel, 'output/bias': bias } = layer.getWeights();
    checkParts(where, headOutputs, kernel);
    const [, H, , Dv] = headOutputs!.shape;
    return { rows: tf.reshape(kernel!, [H, Dv, -1]) as tf.Tensor3D, bias: bias as tf.Tensor1D | undefined };
  });
}

function checkParts(
  where: string,
  headOutputs: tf.Tensor4D | undefined,
  kernel: tf.Tensor | undefined,
): void {
  const wanted = headOutputs && headOutputs.shape[1] * headOutputs.shape[3];
  const reasons = [
    ...(headOutputs ? [] : ['it does not return headOutputs']),
    ...(kernel ? [] : ['it has no variable output/kernel']),
    ...(headOutputs && kernel && kernel.shape[0] !== wanted
      ? [`output/kernel has ${kernel.shape[0]} rows, the heads ${wanted}`]
      : []),
  ];
  if (reasons.length > 0)
    throw new UnsupportedError(where, 'the output must be a projection of all heads', reasons);
}
