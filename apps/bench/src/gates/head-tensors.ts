import * as tf from '@tensorflow/tfjs-core';
import type { AttentionInputs, AttentionWork } from './attention-work';

/** The inputs of a work on the current backend. */
export interface HeadTensors {
  readonly query: tf.Tensor4D; // [1, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [1, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [1, Hkv, Skv, D]
  readonly outputGradient: tf.Tensor4D; // [1, Hq, Sq, D]
}

export function tensorsOf(work: AttentionWork, inputs: AttentionInputs): HeadTensors {
  const { heads, keyValueHeads, queries, keys, headDim } = work;
  return {
    query: tf.tensor4d(inputs.query, [1, heads, queries, headDim]),
    key: tf.tensor4d(inputs.key, [1, keyValueHeads, keys, headDim]),
    value: tf.tensor4d(inputs.value, [1, keyValueHeads, keys, headDim]),
    outputGradient: tf.tensor4d(inputs.outputGradient, [1, heads, queries, headDim]),
  };
}
