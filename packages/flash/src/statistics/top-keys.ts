import { checkSizes } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { checkResultSize, rowsShape, type Statistic } from './statistic';

/** A `type`: it leaves a tidy. */
export type TopKeys = {
  /** [B, H, R, k], int32: -1 where fewer than k keys have weight. */
  readonly indices: tf.Tensor4D;
  /** [B, H, R, k], from the largest to the smallest: 0 where the index is -1. */
  readonly weights: tf.Tensor4D;
};

/**
 * The k keys with most weight of each row, and their weights; of equal ones the earlier first, as `tf.topk` has it. Rows
 * with fewer keys are filled up, so k may be larger than Skv: decoding begins with few keys.
 *
 * @throws ConfigError unless k is a whole number above 0
 * @example
 * attentionStatistics(inputs, { mask: causal() }, { top: topKeys(4) }).top.indices; // [B, Hq, Sq, 4]
 */
export function topKeys(k: number): Statistic<TopKeys> {
  checkSizes('topKeys', { k });
  return {
    name: 'topKeys',
    init(scope) {
      const { shape, count } = rowsShape(scope);
      checkResultSize('topKeys', count * k);
      const indices = new Int32Array(count * k).fill(-1);
      const largest = new Float64Array(count * k);
      return {
        update({ rows, columns, weights }, first) {
          const width = columns[1] - columns[0];
          for (let r = 0; r < rows[1] - rows[0]; r++) {
            const [begin, end] = [(first + r) * k, (first + r + 1) * k];
            for (let c = 0; c < width; c++) {
              const weight = weights[r * width + c]!;
              if (!isBefore(weight, largest[end - 1]!)) continue;
              let at = end - 1;
              for (; at > begin && isBefore(weight, largest[at - 1]!); at--) {
                largest[at] = largest[at - 1]!;
                indices[at] = indices[at - 1]!;
              }
              largest[at] = weight;
              indices[at] = columns[0] + c;
            }
          }
        },
        finalize: () => ({
          indices: tf.tensor4d(indices, [...shape, k], 'int32'),
          weights: tf.tensor4d(Float32Array.from(largest), [...shape, k]),
        }),
      };
    },
  };
}

/** What is no number comes first: it shall be seen. */
const isBefore = (weight: number, other: number) =>
  weight > other || (Number.isNaN(weight) && !Number.isNaN(other));
