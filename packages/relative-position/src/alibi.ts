// Attention with linear biases (Press et al. 2021, 2108.12409): head h adds -m_h |j - i| to the score of query i and key j.
import { ConfigError, type VariableShapes } from '@polyhead/core';
import { normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkCounts, checkFlags } from './check-options';
import { type PositionParts, type TrainedPosition, trainedPosition } from './position-method';

/** What a distance costs in each head. */
export interface AlibiConfig {
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** m_h, a number for each query head. Default: `alibiSlopes`. */
  readonly slopes?: readonly number[] | undefined;
  /**
   * -m |j - i|; false: m (j - i), which is the same where no key lies ahead, and what BLOOM and MPT compute.
   * Default: true.
   */
  readonly symmetric?: boolean | undefined;
  /** The slopes become the variable `slopes`. Default: false. */
  readonly trainable?: boolean | undefined;
}

const where = 'alibi';

/**
 * 2^(-8 h / n) for h = 1 … n. Where n is no power of two: those of the power of two below, then every second one of
 * twice as many.
 */
export function alibiSlopes(numHeads: number): number[] {
  checkCounts('alibiSlopes', { numHeads });
  const n = 2 ** Math.floor(Math.log2(numHeads));
  const first = Array.from({ length: n }, (_, h) => 2 ** ((-8 * (h + 1)) / n));
  const others = Array.from({ length: numHeads - n }, (_, h) => 2 ** ((-4 * (2 * h + 1)) / n));
  return [...first, ...others];
}

/**
 * Adds to scores what the distance of a pair costs in each head.
 *
 * @throws ConfigError for options that cannot be
 */
export const alibi = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: AlibiConfig, parts: PositionParts = {}): TrainedPosition => {
    const config = checkAlibi(options);
    const { numHeads, slopes = alibiSlopes(numHeads), symmetric = true, trainable = false } = config;
    const shapes: VariableShapes = trainable ? { slopes: [numHeads] } : {};
    const starts = { slopes: () => tf.tensor1d([...slopes]) };
    return trainedPosition(where, { config, needs: { numHeads }, shapes, parts, starts }, (variables) => ({
      tables(_query, [from, to]) {
        const ofHeads = trainable ? variables.get('slopes') : tf.tensor1d([...slopes]);
        const reach = Float32Array.from({ length: to - from }, (_, r) =>
          symmetric ? -Math.abs(from + r) : from + r,
        );
        const column = tf.reshape(ofHeads, [numHeads, 1]);
        const table = tf.mul<tf.Tensor2D>(column, tf.tensor2d(reach, [1, to - from])); // [Hq, R]
        return { bias: { table, index: { from } } };
      },
    }));
  },
);

function checkAlibi(options: AlibiConfig): AlibiConfig {
  const known = ['numHeads', 'slopes', 'symmetric', 'trainable'] as const;
  const config = normalizeOptions(where, 'config', options, known) as AlibiConfig;
  const { numHeads, slopes, symmetric, trainable } = config;
  checkCounts(where, { numHeads });
  checkFlags(where, { symmetric, trainable });
  const forEachHead = Array.isArray(slopes) && slopes.length === numHeads && slopes.every(Number.isFinite);
  if (slopes === undefined || forEachHead) return config;
  throw new ConfigError(where, 'slopes must have a number for each head', { slopes, numHeads });
}
