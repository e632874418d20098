// What can be gathered from the weights of a call while their tiles pass by: a value, as masks and kernels are.
import type { Span } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { WeightTile } from '../weight-tiles';

/** What is looked at. */
export interface StatisticScope {
  readonly batch: number; // B
  readonly heads: readonly number[]; // query heads in the order of the results: H of them
  readonly rows: Span; // queries: R of them
  readonly keys: number; // Skv
  readonly sinkLogits?: ArrayLike<number>; // [Hq]
}

/** Something to gather in one pass over the weights. Anyone can write one. */
export interface Statistic<Result extends tf.TensorContainer> {
  readonly name: string;
  /** Makes room. Throws where it does not fit what is looked at. */
  begin(scope: StatisticScope): Gathering<Result>;
}

export interface Gathering<Result extends tf.TensorContainer> {
  /** Keys whose weights it needs; an empty span: of none. Default: all. Other columns may come too. */
  readonly columns?: Span;
  /**
   * Takes in a tile. Each comes once, those of a row from its first key to its last; where all is hidden none may come.
   *
   * @param first place of the tile's first row among the rows looked at, [B, H, R]; the others follow
   */
  take(tile: WeightTile, first: number): void;
  /** @param logSumExp [B, H, R], -Infinity for rows that see nothing */
  finish(logSumExp: Float64Array): Result;
}

/** [B, H, R], and how many rows that are. */
export function rowsShape({ batch, heads, rows: [from, to] }: StatisticScope) {
  const shape: [number, number, number] = [batch, heads.length, to - from];
  return { shape, count: shape.reduce((product, size) => product * size, 1) };
}
