// The attention layers of Universal Sentence Encoder Lite as `MultiHeadAttention`, from the same published weights.
import { MultiHeadAttention, type MultiHeadConfig } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import type { ModelFiles, NamedArray } from './model-files';

/** Layer 0 widens 256 to 512, so its heads are 64 wide; layer 1 has heads of 512 / 4. */
const publishedConfigs: readonly MultiHeadConfig[] = [
  { embedDim: 256, numHeads: 4, headDim: 64, outputDim: 512, useBias: true },
  { embedDim: 512, numHeads: 4, useBias: true },
];

export function publishedAttention({ weights }: ModelFiles, layer: number): MultiHeadAttention {
  const attention = new MultiHeadAttention(publishedConfigs[layer]!);
  const path = (part: string) =>
    `Encoder_en/KonaTransformer/Encode/Layer_${layer}/TransformerLayer/MultiheadAttention/${part}`;
  const kernelOf = (part: string) => named(weights, `module/${path(part)}/kernel/part_0`);
  const biasOf = (part: string) =>
    named(weights, `module_apply_default/${path(part)}/bias/ConcatPartitions/concat`);
  tf.tidy(() => {
    const [query, key, value] = splitColumns(kernelOf('qkv_transform_single'), 3);
    const [queryBias, keyBias, valueBias] = splitColumns(biasOf('qkv_transform_single'), 3);
    const [output] = splitColumns(kernelOf('output_transform_single'), 1);
    const [outputBias] = splitColumns(biasOf('output_transform_single'), 1);
    attention.setWeights({
      'query/kernel': query!,
      'query/bias': tf.reshape(queryBias!, [-1]),
      'key/kernel': key!,
      'key/bias': tf.reshape(keyBias!, [-1]),
      'value/kernel': value!,
      'value/bias': tf.reshape(valueBias!, [-1]),
      'output/kernel': output!,
      'output/bias': tf.reshape(outputBias!, [-1]),
    });
  });
  return attention;
}

function named(weights: ModelFiles['weights'], name: string): NamedArray {
  const weight = weights.get(name);
  if (weight === undefined) throw new Error(`publishedAttention: the model has no weight ${name}`);
  return weight;
}

/** A fused matrix, [1, 1, in, parts · out] or [parts · out], as its parts side by side: [in, out] each. */
function splitColumns({ shape, values }: NamedArray, parts: number): tf.Tensor2D[] {
  const columns = shape.at(-1)!;
  return tf.split(tf.tensor2d(values, [values.length / columns, columns]), parts, 1);
}
