// Relative position representations (Shaw et al. 2018, 1803.02155): each distance up to k has a vector for keys and, if
// asked, one for values; farther distances share the last ones.
//
//   score_ij = scale · q_i · (k_j + a^K_{j-i}),   output_i = Σ_j w_ij (v_j + a^V_{j-i}),   a_d = table[clip(d, -k, k) + k]
import { ConfigError, type PositionMethod, type VariableShapes } from '@polyhead/core';
import { checkNumber, checkOneOf, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkSeed } from './check-options';
import { type PositionParts, type TrainedPosition, trainedPosition } from './position-method';

/** What the tables are, whoever holds them. */
export interface ShawOptions {
  /** k, the largest distance that has a row of its own: at least 0. Default: 128. */
  readonly maxRelativePosition?: number | undefined;
  /** A table for values: none, one of its own, or that of keys (OpenNMT). Default: `none`. */
  readonly valueTable?: 'none' | 'own' | 'keys' | undefined;
  /** What distances beyond k have: the last row, or nothing (VITS). Default: `clip`. */
  readonly beyond?: 'clip' | 'zero' | undefined;
}

export interface ShawConfig extends ShawOptions {
  /** D, the size of a query and key head. */
  readonly headDim: number;
  /** Dv, the size of a value head. Default: D. */
  readonly valueHeadDim?: number | undefined;
  /** Hq: tables of their own for each query head. Default: all heads share them. */
  readonly numHeads?: number | undefined;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 'shaw';

export const shawOptions: readonly (keyof ShawOptions)[] = ['maxRelativePosition', 'valueTable', 'beyond'];

/**
 * Vectors for distances: the variable `keys` and, with a table of their own, `values`: [2k + 1, D] and [2k + 1, Dv], or
 * [Hq, 2k + 1, …]. The row of distance d = key position - query position is d + k.
 *
 * @throws ConfigError for options that cannot be
 */
export const shaw = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: ShawConfig, parts: PositionParts = {}): TrainedPosition => {
    const config = checkShaw(options);
    const { headDim, numHeads, valueTable = 'none' } = config;
    const { valueHeadDim = headDim } = config;
    const needs = { headDim, numHeads, ...(valueTable !== 'none' && { valueHeadDim }) };
    const shapes = shawShapes(where, config, numHeads);
    return trainedPosition(where, { config, needs, shapes, parts }, (variables) =>
      shawTables(config, (name) => variables.get(name)),
    );
  },
);

/**
 * Shapes of the tables.
 *
 * @param heads how many have tables of their own; undefined where all share them
 * @throws ConfigError for options that cannot be
 */
export function shawShapes(
  name: string,
  config: Pick<ShawConfig, 'headDim' | 'valueHeadDim' | keyof ShawOptions>,
  heads: number | undefined,
): VariableShapes {
  const { headDim, valueHeadDim = headDim, maxRelativePosition: k = 128 } = config;
  const { valueTable = 'none', beyond = 'clip' } = config;
  checkNumber(name, 'maxRelativePosition', k, [
    (n) => Number.isInteger(n) && n >= 0,
    'a whole number from 0 on',
  ]);
  checkOneOf(name, 'valueTable', valueTable, ['none', 'own', 'keys']);
  checkOneOf(name, 'beyond', beyond, ['clip', 'zero']);
  if (valueTable === 'keys' && valueHeadDim !== headDim) {
    throw new ConfigError(name, 'heads of keys and values must have one size to share a table', {
      headDim,
      valueHeadDim,
    });
  }
  const shape = (width: number) => (heads === undefined ? [2 * k + 1, width] : [heads, 2 * k + 1, width]);
  return { keys: shape(headDim), ...(valueTable === 'own' && { values: shape(valueHeadDim) }) };
}

/** The formula's tables, from the variables `keys` and `values`. */
export function shawTables(
  { maxRelativePosition: k = 128, valueTable = 'none', beyond = 'clip' }: ShawOptions,
  variableOf: (name: string) => tf.Variable,
): Pick<PositionMethod, 'tables'> {
  const everyRow = Int32Array.from({ length: 2 * k + 1 }, (_, row) => row);
  const index = { from: -k, ...(beyond === 'clip' && { rows: everyRow }) };
  const tableOf = (name: string) => {
    const variable = variableOf(name);
    const table: tf.Tensor3D =
      variable.rank === 2 ? tf.expandDims(variable, 0) : (tf.clone(variable as tf.Tensor) as tf.Tensor3D);
    return { table, index };
  };
  return {
    tables: () => ({
      keys: tableOf('keys'),
      ...(valueTable !== 'none' && { values: tableOf(valueTable === 'own' ? 'values' : 'keys') }),
    }),
  };
}

function checkShaw(options: ShawConfig): ShawConfig {
  const known = ['headDim', 'valueHeadDim', 'numHeads', 'seed', ...shawOptions] as const;
  const config = normalizeOptions(where, 'config', options, known) as ShawConfig;
  const { headDim, valueHeadDim = headDim, numHeads = 1, seed } = config;
  checkSizes(where, { headDim, valueHeadDim, numHeads });
  checkSeed(where, seed);
  return config;
}
