import { ConfigError, ShapeError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

type NamedTensors = Readonly<Record<string, tf.Tensor>>;

/** How many heads are pooled to how many. */
export interface PoolingOptions {
  /** Hq, the number of heads of the multi-head layer. */
  readonly numHeads: number;
  /** Hkv, which must divide `numHeads`: how many key and value heads are left. */
  readonly numKeyValueHeads: number;
}

const where = 'fromMultiHead';

/**
 * Weights of a grouped-query layer out of those of a multi-head layer: the key and value heads of each group become
 * their mean, the best start found for further training (Ainslie et al. 2023, 2305.13245, section 2.1).
 *
 * @param weights of `MultiHeadAttention`, by name, as `getWeights` gives them: kernels [in, Hq * D], biases [Hq * D]
 * @returns weights for `setWeights`; the caller disposes them
 * @throws ConfigError where numHeads is not a multiple of numKeyValueHeads
 * @throws ShapeError where nothing can be pooled, or a kernel is not numHeads heads wide
 */
export function fromMultiHead(weights: NamedTensors, options: PoolingOptions): Record<string, tf.Tensor> {
  const known = ['numHeads', 'numKeyValueHeads'] as const;
  const { numHeads, numKeyValueHeads } = normalizeOptions(where, 'options', options, known) as PoolingOptions;
  checkSizes(where, { numHeads, numKeyValueHeads });
  const G = numHeads / numKeyValueHeads;
  if (!Number.isInteger(G)) {
    throw new ConfigError(where, 'numHeads must be a multiple of numKeyValueHeads', {
      numHeads,
      numKeyValueHeads,
    });
  }
  checkWeights(weights);
  const pool = (name: string, x: tf.Tensor): tf.Tensor => {
    const width = x.shape.at(-1) ?? 0;
    if (width === 0 || width % numHeads !== 0) {
      throw new ShapeError(where, `${name} must be numHeads heads wide`, { [name]: x, numHeads });
    }
    const grouped = tf.reshape(x, [-1, numKeyValueHeads, G, width / numHeads]); // [in, Hkv, G, D]
    return tf.reshape(tf.mean(grouped, 2), [...x.shape.slice(0, -1), width / G]);
  };
  const widthOfQueries = weights['query/kernel']?.shape[1];
  return tf.tidy(() =>
    Object.fromEntries(
      Object.entries(weights).map(([name, x]) => [
        name,
        isPooled(name, x, widthOfQueries) ? pool(name, x) : tf.clone(x),
      ]),
    ),
  );
}

/** Keys and values are pooled. A gain over all heads is as wide as they are; one over a head is shared by them. */
function isPooled(name: string, x: tf.Tensor, widthOfQueries: number | undefined): boolean {
  if (/^(key|value)\/(kernel|bias)$/.test(name)) return true;
  return /^key\/(gain|offset)$/.test(name) && x.size === widthOfQueries;
}

function checkWeights(weights: NamedTensors): void {
  if (typeof weights !== 'object' || weights === null) {
    throw new ShapeError(where, 'weights must be tensors by name', { weights });
  }
  if (!('key/kernel' in weights) && !('value/kernel' in weights)) {
    throw new ShapeError(where, 'weights must have key/kernel or value/kernel: nothing else is pooled', {
      names: Object.keys(weights),
    });
  }
  for (const [name, x] of Object.entries(weights)) {
    if (x instanceof tf.Tensor && !x.isDisposed) continue;
    throw new ShapeError(where, `${name} must be a tensor that is not disposed`, { [name]: x });
  }
}
