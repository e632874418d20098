// One pass over the weights of a call, for all statistics at once.
import { ConfigError, type KernelCall, type Span } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { cpuWeights } from '../cpu/weights';
import { wasmWeights } from '../wasm/weights';
import { rowIndex, rowsOfRegion } from './region';
import type { Accumulator, Statistic, StatisticScope } from './statistic';
import type { WeightSource } from './weight-tiles';

/** By the names that their results shall have. */
export type Statistics = { readonly [name: string]: Statistic<tf.TensorContainer> };

/** What each statistic gives, by its name. */
export type StatisticResults<S extends Statistics> = {
  readonly [name in keyof S]: S[name] extends Statistic<infer Result> ? Result : never;
};

/** Where the weights of a call come from on the current backend. */
export function weightSource(): WeightSource {
  return wasmWeights.unsupported().length === 0 ? wasmWeights : cpuWeights;
}

/** @throws ConfigError for what holds no statistic, or something else */
export function checkStatistics(where: string, statistics: Statistics): void {
  const isObject = typeof statistics === 'object' && statistics !== null;
  const all: readonly (Statistic<tf.TensorContainer> | null)[] = isObject ? Object.values(statistics) : [];
  if (all.length > 0 && all.every((one) => typeof one?.init === 'function')) return;
  throw new ConfigError(
    where,
    'statistics must have names, as { entropy: rowEntropy() }, and be at least one',
    {
      statistics,
    },
  );
}

/**
 * Call it inside a tidy.
 *
 * @param logSumExp of the call, [B, Hq, Sq]; computed where it is absent
 * @throws ShapeError where a statistic does not fit the region
 */
export function gatherStatistics<S extends Statistics>(
  call: KernelCall,
  scope: StatisticScope,
  statistics: S,
  logSumExp?: tf.Tensor,
): StatisticResults<S> {
  const accumulators = Object.values(statistics).map((statistic) => statistic.init(scope));
  const region = { heads: scope.heads, rows: scope.rows, columns: columnsOf(accumulators, scope) };
  const weights = weightSource().open(call);
  const logSumExps = logSumExp ? Float64Array.from(logSumExp.dataSync()) : weights.logSumExp(region);
  if (region.columns[0] < region.columns[1]) {
    weights.visit(region, logSumExps, (tile) => {
      const first = rowIndex(scope, tile.b, tile.h, tile.rows[0]);
      for (const accumulator of accumulators) accumulator.update(tile, first);
    });
  }
  const ofRows = rowsOfRegion(logSumExps, call, scope);
  const results = accumulators.map((accumulator) => accumulator.finalize(ofRows));
  return Object.fromEntries(
    Object.keys(statistics).map((name, n) => [name, results[n]]),
  ) as StatisticResults<S>;
}

/** From the first to one past the last key that one of them needs. */
function columnsOf(accumulators: readonly Accumulator<tf.TensorContainer>[], { keys }: StatisticScope): Span {
  let [first, last] = [keys, 0];
  for (const { columns = [0, keys] } of accumulators) {
    if (columns[0] >= columns[1]) continue;
    first = Math.min(first, columns[0]);
    last = Math.max(last, columns[1]);
  }
  return [first, last];
}
