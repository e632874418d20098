// A published layer with fewer key/value heads, each the mean of a group of its own.
import { countParameters } from '@polyhead/core';
import { fromMultiHead, GroupedQueryAttention, variableShapes } from '@polyhead/grouped-query';
import { cacheBytes, cacheShape } from '@polyhead/inspect';
import type { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';

export interface PooledVariant {
  readonly keyValueHeads: number;
  readonly attention: GroupedQueryAttention;
  readonly parameters: number;
  readonly cacheBytesPerToken: number; // float32
}

/** One for each number of key/value heads, which must divide the layer's. The caller disposes their attention. */
export function poolLayer(layer: MultiHeadAttention, keyValueHeads: readonly number[]): PooledVariant[] {
  return keyValueHeads.map((numKeyValueHeads) => {
    const config = { ...layer.config, numKeyValueHeads };
    const attention = new GroupedQueryAttention(config);
    tf.tidy(() => {
      attention.setWeights(
        fromMultiHead(layer.getWeights(), { numHeads: config.numHeads, numKeyValueHeads }),
      );
    });
    return {
      keyValueHeads: numKeyValueHeads,
      attention,
      parameters: countParameters(variableShapes(config)),
      cacheBytesPerToken: cacheBytes(cacheShape(config), { tokens: 1 }),
    };
  });
}

/** The cosine of the angle between two outputs, token by token. */
export function cosineSimilarities(one: tf.Tensor3D, other: tf.Tensor3D): number[] {
  tf.util.assertShapesMatch(one.shape, other.shape, 'cosineSimilarities: ');
  const [a, b, width] = [one.dataSync(), other.dataSync(), one.shape[2]];
  return Array.from({ length: a.length / width }, (_, token) => {
    let [product, squareA, squareB] = [0, 0, 0];
    for (let n = token * width; n < (token + 1) * width; n++) {
      product += a[n]! * b[n]!;
      squareA += a[n]! ** 2;
      squareB += b[n]! ** 2;
    }
    return product / Math.sqrt(squareA * squareB);
  });
}
