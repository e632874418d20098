import { ShapeError, type Span } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { checkSpan } from './region';
import { checkResultSize, rowsShape, type Statistic } from './statistic';

/**
 * The weights themselves, before dropout, of the rows of a region for a span of keys, [B, H, R, columns]: a window of
 * the map.
 *
 * @param options columns: keys, half-open. Default: all
 * @throws ConfigError for what is no span, ShapeError at the call for one that ends behind the last key
 * @example
 * const window = exactWeights({ columns: [4000, 4064] });
 * attentionStatistics(inputs, { mask: causal() }, { window }, { heads: [3], rows: [4096, 4100] }).window; // [B, 1, 4, 64]
 */
export function exactWeights(options: { readonly columns?: Span | undefined } = {}): Statistic<tf.Tensor4D> {
  const where = 'exactWeights';
  const known = normalizeOptions(where, 'options', options, ['columns']);
  if (known.columns !== undefined) checkSpan(where, 'columns', known.columns);
  return {
    name: where,
    init(scope) {
      const columns = known.columns ?? [0, scope.keys];
      if (columns[1] > scope.keys) {
        throw new ShapeError(where, 'columns must be keys of the call', { columns, Skv: scope.keys });
      }
      const { shape, count } = rowsShape(scope);
      const size = columns[1] - columns[0];
      checkResultSize(where, count * size);
      const window = new Float32Array(count * size);
      return {
        columns,
        update({ rows, columns: [from, to], weights }, first) {
          const [begin, end] = [Math.max(from, columns[0]), Math.min(to, columns[1])];
          for (let r = 0; r < rows[1] - rows[0] && begin < end; r++) {
            const at = r * (to - from) - from;
            window.set(weights.subarray(at + begin, at + end), (first + r) * size + begin - columns[0]);
          }
        },
        finalize: () => tf.tensor4d(window, [...shape, size]),
      };
    },
  };
}
