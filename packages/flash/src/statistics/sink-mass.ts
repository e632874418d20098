import * as tf from '@tensorflow/tfjs-core';
import { rowsShape, type Statistic } from './statistic';

/**
 * The weight that the learned sink of each row's head takes, [B, H, R]: exp(sinkLogit - logSumExp); 0 where the call has
 * no sinks. It needs no scores beside log-sum-exp. The weight of first tokens that serve as a sink (Xiao et al. 2023,
 * 2309.17453) is that of their columns: `exactWeights({ columns: [0, 4] })`.
 *
 * @example
 * attentionStatistics(inputs, { sinkLogits }, { sink: sinkMass() }).sink; // [B, Hq, Sq]
 */
export function sinkMass(): Statistic<tf.Tensor3D> {
  return {
    name: 'sinkMass',
    init(scope) {
      const { shape } = rowsShape(scope);
      const [, H, R] = shape;
      return {
        columns: [0, 0],
        update: () => {},
        finalize(logSumExp) {
          const mass = Float32Array.from(logSumExp, (sum, n) => {
            const sink = scope.sinkLogits?.[scope.heads[Math.floor(n / R) % H]!] ?? -Infinity;
            return sink === -Infinity ? 0 : Math.exp(sink - sum);
          });
          return tf.tensor3d(mass, shape);
        },
      };
    },
  };
}
