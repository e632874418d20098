// Which embedding a distance has: the log buckets of DeBERTa version 2.
import type { DistanceIndex, Span } from '@polyhead/core';
import { checkNumber } from '@polyhead/core/layer';
import { widened } from '../token-positions';
import { type DebertaDistances, spanOf } from './deberta-config';

/**
 * The bucket of query position - key position: itself up to half of the buckets, then by its logarithm.
 *
 * @param config buckets: absent, each distance is its own bucket; maxDistance: 512 by default
 * @throws ConfigError for what is no whole number
 */
export function debertaBucket(relative: number, config?: DebertaDistances | null): number {
  checkNumber('debertaBucket', 'relative', relative, [Number.isInteger, 'a whole number']);
  return bucketOf(relative, config ?? {});
}

function bucketOf(relative: number, { buckets, maxDistance = 512 }: DebertaDistances): number {
  const half = Math.floor((buckets ?? Infinity) / 2);
  const n = Math.abs(relative);
  if (n <= half) return relative;
  const steps = (Math.log(n / half) / Math.log((maxDistance - 1) / half)) * (half - 1);
  return Math.sign(relative) * (half + Math.ceil(steps - 1e-9)); // whole steps come out a little too large now and then
}

/** The row of each distance, key position - query position: clip(bucket + span, 0, 2 span - 1). */
export function distanceRows(config: DebertaDistances): (distances: Span) => DistanceIndex {
  const span = spanOf(config);
  const rowOf = (distance: number) => Math.max(0, Math.min(2 * span - 1, bucketOf(-distance, config) + span));
  let known = { from: 0, rows: Int32Array.of() };
  return ([from, to]) => {
    if (from >= known.from && to <= known.from + known.rows.length) return known;
    const [first, end] = widened([from, to]);
    known = { from: first, rows: Int32Array.from({ length: end - first }, (_, r) => rowOf(first + r)) };
    return known;
  };
}
