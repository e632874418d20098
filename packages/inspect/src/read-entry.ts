import { ShapeError } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** Which batch entry is read. */
export interface EntryOptions {
  /** Default: 0. */
  readonly entry?: number;
}

/**
 * The numbers of one batch entry, as nested lists. The tensor stays the caller's, and nothing else is left in memory.
 *
 * @param axes behind the batch, as `H, Sq, Skv`; the tensor may also have no batch
 * @throws ShapeError for another rank, a disposed tensor, or a batch entry that is not there
 */
export async function readEntry(
  where: string,
  [name, axes]: readonly [name: string, axes: string],
  tensor: tf.Tensor,
  options: EntryOptions,
): Promise<unknown> {
  const { entry = 0 } = normalizeOptions(where, 'options', options, ['entry']);
  const came = { [name]: tensor };
  if (!(tensor instanceof tf.Tensor)) {
    throw new ShapeError(where, `${name} must be a tensor; arrays are taken as they are`, came);
  }
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, came);
  const rank = axes.split(',').length;
  if (tensor.rank !== rank && tensor.rank !== rank + 1) {
    throw new ShapeError(where, `${name} must be [B, ${axes}] or [${axes}]`, came);
  }
  const shape = tensor.shape.slice(-rank);
  const B = tensor.rank > rank ? tensor.shape[0]! : 1;
  if (!Number.isInteger(entry) || entry < 0 || entry >= B) {
    throw new ShapeError(where, 'entry must be one of the batch', { entry, ...came });
  }
  const ofEntry = tf.tidy(() => {
    if (tensor.rank === rank) return tf.reshape(tensor, shape);
    return tf.reshape(tf.slice(tensor, [entry, ...shape.map(() => 0)], [1, ...shape]), shape);
  });
  try {
    return await ofEntry.array();
  } finally {
    ofEntry.dispose();
  }
}
