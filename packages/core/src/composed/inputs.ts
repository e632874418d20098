// The tensors of a call that have gradients, by name, and the call made of other tensors of the same names.
import type * as tf from '@tensorflow/tfjs-core';
import { materialised } from '../checks/check-inputs';
import type { KernelCall } from '../kernel';

export interface Differentiable {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly bias?: tf.Tensor4D; // broadcasts to [B, Hq, Sq, Skv]
  readonly sinkLogits?: tf.Tensor1D; // [Hq]
  readonly tableBias?: tf.Tensor2D; // [Hq, R]
  readonly tableKeys?: tf.Tensor3D; // [1 | Hq, R, D]
  readonly tableKeysQuery?: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly tableQueries?: tf.Tensor3D; // [1 | Hq, R, D]
  readonly tableValues?: tf.Tensor3D; // [1 | Hq, R, Dv]
}

/** Stored keys and values are read here; the surrounding tidy disposes what is read. */
export function differentiableInputs({ inputs, bias, sinkLogits, relative }: KernelCall): Differentiable {
  const { key, value } = inputs.stored ? materialised('attend', inputs.stored) : inputs;
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
  ) as unknown as Differentiable;
}
