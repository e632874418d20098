// Which rows of a call are looked at, and their places in results.
import { ConfigError, type KernelCall, ShapeError, type Span } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/kernel';
import { checkSpan } from './statistics/check-span';
import type { StatisticScope } from './statistics/statistic';

/** Time and memory are those of the rows looked at. */
export interface LookedAt {
  /** Query heads, H of them. Default: all. */
  readonly heads?: readonly number[];
  /** Queries, half-open, R of them. Default: all. */
  readonly rows?: Span;
}

/** @throws ConfigError for what no call has */
export function checkLookedAt(where: string, lookedAt: LookedAt): LookedAt {
  const asked: LookedAt = normalizeOptions(where, 'lookedAt', lookedAt, ['heads', 'rows']);
  const { heads, rows } = asked;
  if (rows !== undefined) checkSpan(where, 'rows', rows);
  if (heads === undefined) return asked;
  const isList = Array.isArray(heads) && heads.every((h) => Number.isInteger(h) && h >= 0);
  if (isList && heads.length > 0 && new Set(heads).size === heads.length) return asked;
  throw new ConfigError(where, 'heads must be a list of query heads, none of them twice', { heads });
}

/** @throws ShapeError where the call has no such heads or rows */
export function scopeOf(where: string, call: KernelCall, { heads, rows }: LookedAt): StatisticScope {
  const { inputs, sinkLogits } = call;
  const [B, Hq, Sq] = inputs.query.shape;
  if (heads?.some((h) => h >= Hq)) {
    throw new ShapeError(where, 'heads must be query heads of the call', { heads, Hq });
  }
  if (rows && rows[1] > Sq) throw new ShapeError(where, 'rows must be queries of the call', { rows, Sq });
  return {
    batch: B,
    heads: heads ?? Array.from({ length: Hq }, (_, h) => h),
    rows: rows ?? [0, Sq],
    keys: inputs.stored ? Math.max(0, ...inputs.stored.lengths) : inputs.key.shape[2],
    ...(sinkLogits && { sinkLogits: sinkLogits.dataSync() }),
  };
}

/** The place of a row among those looked at, [B, H, R]. */
export function placeOf({ heads, rows }: StatisticScope, b: number, h: number, i: number): number {
  return (b * heads.length + heads.indexOf(h)) * (rows[1] - rows[0]) + i - rows[0];
}

/** Numbers of all rows of a call, [B, Hq, Sq], as those of the rows looked at, [B, H, R]. */
export function ofRowsLookedAt(
  numbers: Float64Array,
  { inputs }: KernelCall,
  { batch, heads, rows }: StatisticScope,
): Float64Array {
  const [, Hq, Sq] = inputs.query.shape;
  const R = rows[1] - rows[0];
  const found = new Float64Array(batch * heads.length * R);
  for (let n = 0; n < batch * heads.length; n++) {
    const first = (Math.floor(n / heads.length) * Hq + heads[n % heads.length]!) * Sq;
    found.set(numbers.subarray(first + rows[0], first + rows[1]), n * R);
  }
  return found;
}
