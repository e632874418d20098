// The region of a call that statistics are of, and the rows of results that its rows are.
import { ConfigError, type KernelCall, ShapeError, type Span } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/kernel';
import type { StatisticScope } from './statistic';

/** The query rows that statistics are of: time and memory are theirs. */
export interface Region {
  /** Query heads, H of them. Default: all. */
  readonly heads?: readonly number[] | undefined;
  /** Queries, half-open, R of them. Default: all. */
  readonly rows?: Span | undefined;
}

/** @throws ConfigError for what no call has */
export function checkRegion(where: string, region: Region): Region {
  const known: Region = normalizeOptions(where, 'region', region, ['heads', 'rows']);
  const { heads, rows } = known;
  if (rows !== undefined) checkSpan(where, 'rows', rows);
  if (heads === undefined) return known;
  const isList = Array.isArray(heads) && heads.every((h) => Number.isInteger(h) && h >= 0);
  if (isList && heads.length > 0 && new Set(heads).size === heads.length) return known;
  throw new ConfigError(where, 'heads must be a list of query heads, none of them twice', { heads });
}

/** @throws ShapeError where the call has no such heads or rows */
export function scopeOf(where: string, call: KernelCall, { heads, rows }: Region): StatisticScope {
  const { sinkLogits } = call;
  const { B, Hq, Sq, Skv } = call.sizes;
  if (heads?.some((h) => h >= Hq)) {
    throw new ShapeError(where, 'heads must be query heads of the call', { heads, Hq });
  }
  if (rows && rows[1] > Sq) throw new ShapeError(where, 'rows must be queries of the call', { rows, Sq });
  return {
    batch: B,
    heads: heads ?? Array.from({ length: Hq }, (_, h) => h),
    rows: rows ?? [0, Sq],
    keys: Skv,
    ...(sinkLogits && { sinkLogits: sinkLogits.dataSync() }),
  };
}

/** Which row of the region a row of the call is, in [B, H, R]. */
export function rowIndex({ heads, rows }: StatisticScope, b: number, h: number, i: number): number {
  return (b * heads.length + heads.indexOf(h)) * (rows[1] - rows[0]) + i - rows[0];
}

/** From numbers of all rows of a call, [B, Hq, Sq], to those of the region, [B, H, R]. */
export function rowsOfRegion(
  numbers: Float64Array,
  { sizes: { Hq, Sq } }: KernelCall,
  { batch, heads, rows }: StatisticScope,
): Float64Array {
  const R = rows[1] - rows[0];
  const ofRegion = new Float64Array(batch * heads.length * R);
  for (let n = 0; n < batch * heads.length; n++) {
    const first = (Math.floor(n / heads.length) * Hq + heads[n % heads.length]!) * Sq;
    ofRegion.set(numbers.subarray(first + rows[0], first + rows[1]), n * R);
  }
  return ofRegion;
}

/** @throws ConfigError unless it is [from, to) of whole numbers, and holds something */
export function checkSpan(where: string, name: string, span: Span): void {
  const isPair = Array.isArray(span) && span.length === 2 && span.every(Number.isInteger);
  if (isPair && span[0] >= 0 && span[0] < span[1]) return;
  throw new ConfigError(where, `${name} must be [from, to] with 0 <= from < to, whole numbers`, {
    [name]: span,
  });
}
