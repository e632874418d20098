// Key/value heads of a decoder made one: each becomes the mean of all, which computes the same as a layer that has one.
// Ainslie et al. 2023 (arXiv:2305.13245) start so, and then train; here nothing is trained.
import * as tf from '@tensorflow/tfjs-core';
import { decoderOf, type LoadedModel } from '../model/loaded-model';

/** @param share of the layers that stay as they are, the first ones */
export function poolKeyValueHeads(loaded: LoadedModel, share: number) {
  const { self: shapes } = decoderOf(loaded.model).cacheShapes(1);
  const first = Math.round(share * shapes.length);
  const pooled = loaded.model.variables.flatMap(({ name, variable }) => {
    const [, layer] = /block(\d+)\/attention\/(?:key|value)\/(?:kernel|bias)$/.exec(name) ?? [];
    if (layer === undefined || Number(layer) < first) return [];
    const { heads } = shapes[Number(layer)]!;
    const original = variable.clone();
    tf.tidy(() => variable.assign(withMeanHead(original, heads)));
    return [{ variable, original }];
  });
  const numbers = shapes.map(({ heads, keySize, valueSize }, layer) => ({
    all: heads * (keySize + valueSize),
    left: (layer < first ? heads : 1) * (keySize + valueSize),
  }));
  const sum = (of: 'all' | 'left') => numbers.reduce((total, one) => total + one[of], 0);
  return {
    bytesShare: sum('left') / sum('all'),
    restore: () => {
      for (const { variable, original } of pooled) {
        variable.assign(original as typeof variable);
        original.dispose();
      }
    },
  };
}

/** [..., Hkv · D] with the mean over Hkv in the place of each head. */
function withMeanHead(weight: tf.Tensor, heads: number): tf.Tensor {
  const rows = weight.shape.slice(0, -1).reduce((size, n) => size * n, 1);
  const split = tf.reshape(weight, [rows, heads, -1]);
  return tf.reshape(tf.tile(tf.mean(split, 1, true), [1, heads, 1]), weight.shape);
}
