// Each published position method by its definition. A table has a row for each distance of the call, without any
// index of the method's own.
import { type PositionOracle, tableOf, weightAt } from './position-oracle';

const clip = (x: number, low: number, high: number) => Math.min(high, Math.max(low, x));

/** Press et al. 2021, 2108.12409: -m |d|. Slopes are numbers, or the variable `position/slopes`. */
export function alibiOracle(slopes?: readonly number[]): PositionOracle {
  return {
    tables(weights, call) {
      const slope = (h: number) => slopes?.[h] ?? weightAt(weights, 'position/slopes', h);
      return { bias: tableOf(call, [call.sizes.Hq], (h, d) => -slope(h) * Math.abs(d)) };
    },
  };
}

/** Raffel et al. 2019, 1910.10683: the number of the bucket of d, products not scaled. */
export function t5Oracle(bucketOf: (distance: number) => number): PositionOracle {
  return {
    scale: () => 1,
    tables: (weights, call) => ({
      bias: tableOf(call, [call.sizes.Hq], (h, d) => weightAt(weights, 'position/table', bucketOf(d), h)),
    }),
  };
}

/** Shaw et al. 2018, 1803.02155: row clip(d, -k, k) + k of `position/keys`, and of a table for values. */
export function shawOracle({
  k,
  values,
  beyond = 'clip',
}: {
  readonly k: number;
  readonly values?: string;
  readonly beyond?: 'clip' | 'zero';
}): PositionOracle {
  return {
    tables(weights, call) {
      const table = (name: string, width: number) =>
        tableOf(call, [call.sizes.Hq, width], (h, d, n) => {
          if (beyond === 'zero' && Math.abs(d) > k) return 0;
          const row = [clip(d, -k, k) + k, n];
          return weightAt(weights, name, ...(weights[name]!.shape.length === 3 ? [h, ...row] : row));
        });
      return {
        keys: table('position/keys', call.sizes.D),
        ...(values && { values: table(values, call.sizes.Dv) }),
      };
    },
  };
}

/** BERT: row -d + P - 1, dotted with queries, and with keys where `ofKeys`. */
export function bertRelativeOracle({
  P,
  ofKeys,
}: {
  readonly P: number;
  readonly ofKeys: boolean;
}): PositionOracle {
  return {
    tables(weights, call) {
      const table = tableOf(call, [1, call.sizes.D], (_h, d, n) =>
        weightAt(weights, 'position/table', P - 1 - d, n),
      );
      return { keys: table, ...(ofKeys && { queries: table }) };
    },
  };
}

/** Dai et al. 2019, 1901.02860: (q + u) · k + (q + v) · (R_{-d} W), R sines then cosines of width E. */
export function transformerXLOracle({ E }: { readonly E: number }): PositionOracle {
  const sinusoid = (distance: number, e: number) => {
    const angle = distance * 10_000 ** ((-2 * (e % (E / 2))) / E);
    return e < E / 2 ? Math.sin(angle) : Math.cos(angle);
  };
  return {
    rotate(head, { h, role }, weights) {
      if (role === 'key') return head;
      return head.map((x, n) => x + weightAt(weights, 'position/contentBias', h, n));
    },
    tables(weights, call) {
      const { Hq, Sq, D } = call.sizes;
      const keys = tableOf(call, [Hq, D], (h, d, n) => {
        let sum = 0;
        for (let e = 0; e < E; e++)
          sum += sinusoid(-d, e) * weightAt(weights, 'position/kernel', e, h * D + n);
        return sum;
      });
      const query = call.query.data.map(
        (x, at) => x + weightAt(weights, 'position/positionBias', Math.floor(at / (D * Sq)) % Hq, at % D),
      );
      return { keys: { ...keys, query } };
    },
  };
}

/**
 * He et al. 2020, 2006.03654: q · (E_δ W^K) and k · (E_δ W^Q), δ = clip(bucket(-d) + span, 0, 2 span - 1), divided by
 * sqrt(3 D).
 */
export function debertaOracle({
  span,
  bucketOf,
}: {
  readonly span: number;
  readonly bucketOf: (distance: number) => number;
}): PositionOracle {
  return {
    scale: (D) => 1 / Math.sqrt(3 * D),
    tables(weights, call) {
      const { Hq, D } = call.sizes;
      const projected = (name: string) =>
        tableOf(call, [Hq, D], (h, d, n) => {
          const row = clip(bucketOf(-d) + span, 0, 2 * span - 1);
          const embeddings = weights['position/embeddings']!;
          let sum = weights[`${name}/bias`] ? weightAt(weights, `${name}/bias`, h * D + n) : 0;
          for (let e = 0; e < embeddings.shape[1]!; e++) {
            sum +=
              weightAt(weights, 'position/embeddings', row, e) *
              weightAt(weights, `${name}/kernel`, e, h * D + n);
          }
          return sum;
        });
      return { keys: projected('position/key'), queries: projected('position/query') };
    },
  };
}

/** Su et al. 2021, 2104.09864: pair p at the angle position · frequency(p), times a factor. */
export function rotaryOracle({
  rotaryDim,
  interleaved = false,
  frequency = (pair) => 10_000 ** ((-2 * pair) / rotaryDim),
  factor = 1,
}: {
  readonly rotaryDim: number;
  readonly interleaved?: boolean;
  readonly frequency?: (pair: number) => number;
  readonly factor?: number;
}): PositionOracle {
  return {
    rotate(head, { position }) {
      const result = Float64Array.from(head);
      for (let pair = 0; pair < rotaryDim / 2; pair++) {
        const [one, other] = interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + rotaryDim / 2];
        const angle = position * frequency(pair);
        const [cos, sin] = [factor * Math.cos(angle), factor * Math.sin(angle)];
        result[one] = head[one]! * cos - head[other]! * sin;
        result[other] = head[other]! * cos + head[one]! * sin;
      }
      return result;
    },
  };
}

/** Liu et al. 2021, 2103.14030: the number of the offset (y, x) of a window h x w, query - key. */
export function swinOracle([h, w]: readonly [number, number]): PositionOracle {
  const half = w - 1; // a position is y (2w - 1) + x: the nearest multiple of 2w - 1 tells y
  return {
    tables: (weights, call) => ({
      bias: tableOf(call, [call.sizes.Hq], (head, d) => {
        const y = Math.floor((-d + half) / (2 * w - 1));
        const x = -d - y * (2 * w - 1);
        return weightAt(weights, 'position/table', (y + h - 1) * (2 * w - 1) + x + w - 1, head);
      }),
    }),
  };
}

/** Rotary of two axes: the first half of the pairs by y, the second by x; a position is y · width + x. */
export function axialRotaryOracle({
  headDim,
  width,
}: {
  readonly headDim: number;
  readonly width: number;
}): PositionOracle {
  const quarter = headDim / 4;
  const halfOf = (axis: number) =>
    rotaryOracle({
      rotaryDim: headDim,
      frequency: (pair) =>
        Math.floor(pair / quarter) === axis ? 10_000 ** (-(pair % quarter) / quarter) : 0,
    });
  const [byY, byX] = [halfOf(0), halfOf(1)];
  return {
    rotate(head, at, weights) {
      const rotatedByY = byY.rotate!(head, { ...at, position: Math.floor(at.position / width) }, weights);
      return byX.rotate!(rotatedByY, { ...at, position: at.position % width }, weights);
    },
  };
}
