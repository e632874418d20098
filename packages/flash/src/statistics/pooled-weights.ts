import { ConfigError } from '@polyhead/core';
import { checkSizes, normalizeOptions } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { checkResultSize, rowsShape, type Statistic, type StatisticScope } from './statistic';
import type { WeightTile } from './weight-tiles';

/** How large the blocks of a map are, and what each becomes. */
export interface PoolOptions {
  /** Queries of a block. */
  readonly rows: number;
  /** Keys of a block. */
  readonly columns: number;
  /**
   * What a block becomes. `mass`: what a query of the block gives to all its keys, in the mean over the queries, so that a
   * row of blocks sums to 1 as a row of weights does. `mean` and `max`: of the weights of all pairs of the block, hidden
   * ones 0. Default: `mass`.
   */
  readonly pool?: 'mass' | 'mean' | 'max';
}

type Pool = NonNullable<PoolOptions['pool']>;

const pools: readonly Pool[] = ['mass', 'mean', 'max'];

/**
 * The map of weights in blocks, [B, H, ceil(R / rows), ceil(Skv / columns)]. Blocks begin at the first row of the region and
 * at key 0; the last ones are smaller where sizes leave a rest.
 *
 * @throws ConfigError for blocks that hold nothing, or another pool
 * @example
 * const map = pooledWeights({ rows: 64, columns: 64 });
 * attentionStatistics(inputs, { mask: causal() }, { map }).map; // [B, Hq, ceil(Sq / 64), ceil(Skv / 64)]
 */
export function pooledWeights(options: PoolOptions): Statistic<tf.Tensor4D> {
  const where = 'pooledWeights';
  const known = normalizeOptions(where, 'options', options, ['rows', 'columns', 'pool']) as PoolOptions;
  const { rows, columns, pool = 'mass' } = known;
  checkSizes(where, { rows, columns });
  if (!pools.includes(pool)) {
    throw new ConfigError(where, `pool must be one of ${pools.join(', ')}`, { pool });
  }
  return {
    name: where,
    init(scope) {
      const blocks = emptyBlocks(scope, { rows, columns, pool });
      return {
        update: (tile, first) => addTile(blocks, tile, first),
        finalize: () => mapOf(blocks, scope),
      };
    },
  };
}

interface Blocks extends Required<PoolOptions> {
  readonly scope: StatisticScope;
  readonly down: number;
  readonly across: number;
  readonly values: Float64Array; // [B, H, down, across]: the sum or the largest so far
}

function emptyBlocks(scope: StatisticScope, options: Required<PoolOptions>): Blocks {
  const [B, H, R] = rowsShape(scope).shape;
  const [down, across] = [Math.ceil(R / options.rows), Math.ceil(scope.keys / options.columns)];
  checkResultSize('pooledWeights', B * H * down * across);
  return { ...options, scope, down, across, values: new Float64Array(B * H * down * across) };
}

function addTile(blocks: Blocks, { rows, columns, weights }: WeightTile, first: number): void {
  const { scope, down, across, values } = blocks;
  const begin = rows[0] - scope.rows[0];
  const head = (first - begin) / (scope.rows[1] - scope.rows[0]);
  const width = columns[1] - columns[0];
  const combine = blocks.pool === 'max' ? withLargest : withSum;
  for (let r = 0; r < rows[1] - rows[0]; r++) {
    const at = (head * down + Math.floor((begin + r) / blocks.rows)) * across;
    for (let from = columns[0]; from < columns[1]; ) {
      const block = Math.floor(from / blocks.columns);
      const to = Math.min(columns[1], (block + 1) * blocks.columns);
      const offset = r * width - columns[0];
      values[at + block] = combine(values[at + block]!, weights, offset + from, offset + to);
      from = to;
    }
  }
}

type Numbers = WeightTile['weights'];

function withSum(sum: number, numbers: Numbers, from: number, to: number): number {
  let all = sum;
  for (let n = from; n < to; n++) all += numbers[n]!;
  return all;
}

function withLargest(largest: number, numbers: Numbers, from: number, to: number): number {
  let most = largest;
  for (let n = from; n < to; n++) most = Math.max(most, numbers[n]!); // NaN stays
  return most;
}

function mapOf({ rows, columns, pool, down, across, values }: Blocks, scope: StatisticScope): tf.Tensor4D {
  const [B, H, R] = rowsShape(scope).shape;
  const pooled = Float32Array.from(values, (value, n) => {
    if (pool === 'max') return value;
    const queries = sizeOf(Math.floor(n / across) % down, rows, R);
    return value / (pool === 'mass' ? queries : queries * sizeOf(n % across, columns, scope.keys));
  });
  return tf.tensor4d(pooled, [B, H, down, across]);
}

/** The last block may be smaller. */
const sizeOf = (block: number, size: number, count: number) => Math.min(size, count - block * size);
