// The tensors of a call that have gradients, by name. Stored keys and values have none.
import type * as tf from '@tensorflow/tfjs-core';
import type { KernelCall } from './kernel';

export interface CallTensors {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key?: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value?: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly bias?: tf.Tensor4D; // broadcasts to [B, Hq, Sq, Skv]
  readonly sinkLogits?: tf.Tensor1D; // [Hq]
  readonly tableBias?: tf.Tensor2D; // [Hq, R]
  readonly tableKeys?: tf.Tensor3D; // [1 | Hq, R, D]
  readonly tableKeysQuery?: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly tableQueries?: tf.Tensor3D; // [1 | Hq, R, D]
  readonly tableValues?: tf.Tensor3D; // [1 | Hq, R, Dv]
}

/** By name; those the call does not have are left out. */
export function callTensors({ inputs, bias, sinkLogits, relative }: KernelCall): CallTensors {
  const { key, value } = inputs.stored ? {} : inputs;
  const tensors = {
    query: inputs.query,
    key,
    value,
    bias,
    sinkLogits,
    tableBias: relative?.bias?.table,
    tableKeys: relative?.keys?.table,
    tableKeysQuery: relative?.keys?.query,
    tableQueries: relative?.queries?.table,
    tableValues: relative?.values?.table,
  };
  return Object.fromEntries(
    Object.entries(tensors).filter(([, tensor]) => tensor !== undefined),
  ) as unknown as CallTensors;
}
