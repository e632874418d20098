import { ConfigError, ShapeError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

type NamedTensors = Readonly<Record<string, tf.Tensor>>;

/**
 * Weights of a grouped-query layer out of those of a multi-head layer: the key and value heads of each group become
 * their mean, the best start found for further training (Ainslie et al. 2023, 2305.13245, section 2.1).
 *
 * @param weights of `MultiHeadAttention`, by name, as `getWeights` gives them: kernels [in, Hq * D], biases [Hq * D]
 * @returns weights for `setWeights`; the caller disposes them
 * @throws ConfigError where numHeads is not a multiple of numKeyValueHeads
 * @throws ShapeError where a kernel is not numHeads heads wide
 */
export function fromMultiHead(
  weights: NamedTensors,
  { numHeads, numKeyValueHeads }: { readonly numHeads: number; readonly numKeyValueHeads: number },
): Record<string, tf.Tensor> {
  const G = numHeads / numKeyValueHeads;
  if (!Number.isInteger(numHeads) || !Number.isInteger(G) || G < 1) {
    throw new ConfigError(where, 'numHeads must be a multiple of numKeyValueHeads', {
      numHeads,
      numKeyValueHeads,
    });
  }
  const queryKernel = weights?.['query/kernel'];
  const isPooled = (name: string, x: tf.Tensor) =>
    /^(key|value)\/(kernel|bias)$/.test(name) ||
    // A gain over all heads is as wide as they are; one over a head is shared by them.
    (/^key\/(gain|offset)$/.test(name) && x.size === queryKernel?.shape[1]);
  const pool = (name: string, x: tf.Tensor): tf.Tensor => {
    const width = x.shape.at(-1)!;
    if (width % numHeads !== 0) {
      throw new ShapeError(where, `${name} must be numHeads heads wide`, { [name]: x, numHeads });
    }
    const grouped = tf.reshape(x, [-1, numKeyValueHeads, G, width / numHeads]); // [in, Hkv, G, D]
    return tf.reshape(tf.mean(grouped, 2), [...x.shape.slice(0, -1), width / G]);
  };
  for (const [name, x] of Object.entries(checkedWeights(weights))) {
    if (x instanceof tf.Tensor && !x.isDisposed) continue;
    throw new ShapeError(where, `${name} must be a tensor that is not disposed`, { [name]: x });
  }
  return tf.tidy(() =>
    Object.fromEntries(
      Object.entries(weights).map(([name, x]) => [name, isPooled(name, x) ? pool(name, x) : tf.clone(x)]),
    ),
  );
}

const where = 'fromMultiHead';

function checkedWeights(weights: NamedTensors): NamedTensors {
  if (typeof weights === 'object' && weights !== null) return weights;
  throw new ShapeError(where, 'weights must be tensors by name', { weights });
}
