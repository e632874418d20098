// How much of a layer's output each head makes: the output without it, compared with the whole.
import { type Attention, ConfigError, type LayerCall, type LayerInputs } from '@polyhead/core';
import { outputRows } from '@polyhead/core/layer';
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
    const { rows } = outputRows('ablateHeads', layer, headOutputs);
    const parts = Array.from({ length: rows.shape[0] }, (_, h) => contributionNorm(headOutputs!, rows, h));
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
function contributionNorm(headOutputs: tf.Tensor4D, rows: tf.Tensor3D, h: number): tf.Scalar {
  return tf.tidy(() => {
    const [B, , Sq, Dv] = headOutputs.shape;
    const ofHead = tf.reshape(tf.slice(headOutputs, [0, h, 0, 0], [B, 1, Sq, Dv]), [B * Sq, Dv]);
    const own = tf.reshape(tf.slice(rows, [h, 0, 0], [1, Dv, rows.shape[2]]), [Dv, rows.shape[2]]); // [Dv, outputDim]
    return tf.norm(tf.matMul(ofHead, own)) as tf.Scalar;
  });
}
