import * as tf from '@tensorflow/tfjs-core';
import { rowsShape, type Statistic } from './statistic';

/**
 * Entropy of each row in nats, [B, H, R]: 0 where a query looks at one key, ln n where it looks at n keys evenly, 0 where
 * it sees none. Weights are taken as shares of their sum, so what a sink takes is left out.
 *
 * @example
 * attentionStatistics(inputs, { mask: causal() }, { entropy: rowEntropy() }).entropy; // [B, Hq, Sq]
 */
export function rowEntropy(): Statistic<tf.Tensor3D> {
  return {
    name: 'rowEntropy',
    init(scope) {
      const { shape, count } = rowsShape(scope);
      const [sums, products] = [new Float64Array(count), new Float64Array(count)]; // Σ w and Σ w ln w
      return {
        update({ rows, columns, weights }, first) {
          const width = columns[1] - columns[0];
          for (let r = 0; r < rows[1] - rows[0]; r++) {
            let [sum, product] = [0, 0];
            for (let at = r * width; at < (r + 1) * width; at++) {
              const weight = weights[at]!;
              if (weight === 0) continue;
              sum += weight;
              product += weight * Math.log(weight);
            }
            sums[first + r]! += sum;
            products[first + r]! += product;
          }
        },
        // -Σ (w / sum) ln(w / sum)
        finalize: () =>
          tf.tensor3d(
            Float32Array.from(sums, (sum, n) =>
              sum === 0 ? 0 : Math.max(0, Math.log(sum) - products[n]! / sum),
            ),
            shape,
          ),
      };
    },
  };
}
