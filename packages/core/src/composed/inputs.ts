// The tensors of a call as `composed` takes them: stored keys and values are read.
import type * as tf from '@tensorflow/tfjs-core';
import { materialized } from '../checks/check-inputs';
import type { KernelCall } from '../contract/kernel';
import { type CallTensors, callTensors } from '../kernel/call-tensors';

export interface Differentiable extends CallTensors {
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
}

/** The surrounding tidy disposes what is read. */
export function differentiableInputs(call: KernelCall): Differentiable {
  const { stored } = call.inputs;
  return { ...callTensors(call), ...(stored && materialized('attend', stored)) } as Differentiable;
}
