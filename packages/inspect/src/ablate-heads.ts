// How much of a layer's output each head makes: the output without it, compared with the whole.
import {
  type Attention,
  ConfigError,
  type LayerCall,
  type LayerInputs,
  UnsupportedError,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

/**
 * For each head, the relative change of the output when that head alone is silenced:
 * `‖output − output without the head‖ / ‖output‖`, over all batch entries and tokens (Michel et al. 2019, 1905.10650,
 * silence heads so). Silenced, its output is zeros before the output projection; a bias stays. 0: the head makes no
 * difference; more than 1: others undo what it adds.
 *
 * The layer runs once, so a cache in the call grows as in any call. Nothing is left in memory.
 *
 * @param layer any variant with heads and an `output/kernel` [H · Dv, outputDim]
 * @returns [H]
 * @throws ConfigError for what is no layer, UnsupportedError for a layer without these, and whatever the layer throws
 * @example
 * const changes = await ablateHeads(attention, { query }, { mask: causal() });
 */
export async function ablateHeads(
  layer: Attention,
  inputs: LayerInputs,
  call: LayerCall = {},
): Promise<number[]> {
  checkLayer(layer);
  const norms = tf.tidy(() => {
    const { output, headOutputs } = layer.apply(inputs, { ...call, returns: ['headOutputs'] });
    const kernel = layer.getWeights()['output/kernel'];
    checkParts(headOutputs, kernel);
    const [, H] = headOutputs!.shape;
    const parts = Array.from({ length: H }, (_, h) => contributionNorm(headOutputs!, kernel!, h));
    return tf.stack([tf.norm(output), ...parts]); // [1 + H]
  });
  try {
    const [whole = 0, ...parts] = await norms.data();
    return parts.map((part) => (part === 0 ? 0 : part / whole));
  } finally {
    norms.dispose();
  }
}

function checkLayer(layer: Attention): void {
  if (typeof layer?.apply === 'function' && typeof layer.getWeights === 'function') return;
  throw new ConfigError('ablateHeads', 'layer must be an Attention, such as MultiHeadAttention', { layer });
}

/** The norm of what one head adds to the output. */
function contributionNorm(headOutputs: tf.Tensor4D, kernel: tf.Tensor, h: number): tf.Scalar {
  return tf.tidy(() => {
    const [B, , Sq, Dv] = headOutputs.shape;
    const ofHead = tf.reshape(tf.slice(headOutputs, [0, h, 0, 0], [B, 1, Sq, Dv]), [B * Sq, Dv]);
    const rows = tf.slice(kernel as tf.Tensor2D, [h * Dv, 0], [Dv, kernel.shape[1]!]); // [Dv, outputDim]
    return tf.norm(tf.matMul(ofHead, rows)) as tf.Scalar;
  });
}

/** @throws UnsupportedError unless the output projection takes the heads side by side */
function checkParts(headOutputs: tf.Tensor4D | undefined, kernel: tf.Tensor | undefined): void {
  const wanted = headOutputs && headOutputs.shape[1] * headOutputs.shape[3];
  const reasons = [
    ...(headOutputs ? [] : ['it does not return headOutputs']),
    ...(kernel ? [] : ['it has no variable output/kernel']),
    ...(headOutputs && kernel && kernel.shape[0] !== wanted
      ? [`output/kernel has ${kernel.shape[0]} rows, the heads ${wanted}`]
      : []),
  ];
  if (reasons.length > 0) {
    throw new UnsupportedError('ablateHeads', 'the output must be a projection of all heads', reasons);
  }
}
