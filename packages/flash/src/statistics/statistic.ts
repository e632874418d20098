// What can be computed from the weights of a call while their tiles pass by: a value, as masks and kernels are.
import { ShapeError, type Span } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { WeightTile } from './weight-tiles';

/** The region of a call that a statistic is of. */
export interface StatisticScope {
  /** B: all batch entries. */
  readonly batch: number;
  /** Query heads in the order of the results, H of them. */
  readonly heads: readonly number[];
  /** Queries, half-open, R of them. */
  readonly rows: Span;
  /** Skv */
  readonly keys: number;
  /** [Hq]; absent where the call has no sinks. */
  readonly sinkLogits?: ArrayLike<number>;
}

/** Something to compute in one pass over the weights. Anyone can write one. */
export interface Statistic<Result extends tf.TensorContainer> {
  /** Shown in errors. */
  readonly name: string;
  /** An accumulator that has seen nothing. Throws where the statistic does not fit the region. */
  init(scope: StatisticScope): Accumulator<Result>;
}

/** What a statistic keeps while tiles of weights pass by. */
export interface Accumulator<Result extends tf.TensorContainer> {
  /** Keys whose weights it needs; an empty span: of none. Default: all. Other columns may come too. */
  readonly columns?: Span;
  /**
   * Adds a tile. Each comes once, those of a row from its first key to its last; where all is hidden none may come.
   *
   * @param first which row of the region, [B, H, R], the tile's first row is; the others follow
   */
  update(tile: WeightTile, first: number): void;
  /**
   * The result, when all tiles have come.
   *
   * @param logSumExp [B, H, R], -Infinity for rows that see nothing
   */
  finalize(logSumExp: Float64Array): Result;
}

/** @throws ShapeError for more numbers than a result can have */
export function checkResultSize(where: string, numbers: number): void {
  if (numbers < 2 ** 28) return; // a GiB
  throw new ShapeError(where, 'results must have less than 2^28 numbers: take a smaller region', { numbers });
}

/** [B, H, R], and how many rows that are. */
export function rowsShape({ batch, heads, rows: [from, to] }: StatisticScope) {
  const shape: [number, number, number] = [batch, heads.length, to - from];
  return { shape, count: shape.reduce((product, size) => product * size, 1) };
}
