// The tensors of a call that have gradients, by name. Stored keys and values have none.
import type * as tf from '@tensorflow/tfjs-core';
import type { KernelCall, NamedTensors } from '../contract/kernel';

/** The tensors of a call by name; those that it does not have are absent. */
export interface CallTensors {
  /** [B, Hq, Sq, D] */
  readonly query: tf.Tensor4D;
  /** [B, Hkv, Skv, D] */
  readonly key?: tf.Tensor4D;
  /** [B, Hkv, Skv, Dv] */
  readonly value?: tf.Tensor4D;
  /** Broadcasts to [B, Hq, Sq, Skv]. */
  readonly bias?: tf.Tensor4D;
  /** [Hq] */
  readonly sinkLogits?: tf.Tensor1D;
  /** [Hq, R] */
  readonly biasTable?: tf.Tensor2D;
  /** [1 | Hq, R, D] */
  readonly keyTable?: tf.Tensor3D;
  /** [B, Hq, Sq, D]: what the table of keys is multiplied by, where it is not the query. */
  readonly keyTableQuery?: tf.Tensor4D;
  /** [1 | Hq, R, D] */
  readonly queryTable?: tf.Tensor3D;
  /** [1 | Hq, R, Dv] */
  readonly valueTable?: tf.Tensor3D;
  readonly [own: `tensors/${string}`]: tf.Tensor; // of a variant's own
  readonly [earlier: `state/${string}`]: tf.Tensor;
}

/** By name; those the call does not have are left out. */
export function callTensors({ inputs, bias, sinkLogits, relative, tensors }: KernelCall): CallTensors {
  const { key, value, state } = inputs.stored ? {} : inputs;
  const all = {
    query: inputs.query,
    key,
    value,
    bias,
    sinkLogits,
    biasTable: relative?.bias?.table,
    keyTable: relative?.keys?.table,
    keyTableQuery: relative?.keys?.query,
    queryTable: relative?.queries?.table,
    valueTable: relative?.values?.table,
    ...prefixed('tensors', tensors),
    ...prefixed('state', state),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([, tensor]) => tensor !== undefined),
  ) as unknown as CallTensors;
}

function prefixed(prefix: string, tensors: NamedTensors = {}): NamedTensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${prefix}/${name}`, tensor]));
}
