// Relative positions of BERT (Huang et al. 2020, 2009.13658, methods 3 and 4; Hugging Face's `relative_key` and
// `relative_key_query`): one table whose row is query position - key position + P - 1, mirrored to that of Shaw et al.
//
//   score_ij = scale · (q_i · k_j + q_i · a_{i-j} [+ k_j · a_{i-j}])
import { ConfigError } from '@polyhead/core';
import { checkOneOf, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkSeed } from './check-options';
import { type PositionParts, type TrainedPosition, trainedPosition } from './position-method';

/** A learned vector for each distance, as BERT has them. */
export interface BertRelativeConfig {
  /** D, the size of a head. */
  readonly headDim: number;
  /** P: tokens stand less than P apart. Default: 512. */
  readonly maxPositions?: number | undefined;
  /** `relative_key`, or `relative_key_query` with the term of keys beside it. Default: `relative_key`. */
  readonly type?: 'relative_key' | 'relative_key_query' | undefined;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 'bertRelative';

/**
 * Vectors for distances that queries, and keys if asked, are multiplied by: the variable `table`, [2P - 1, D], which is
 * BERT's `distance_embedding`.
 *
 * @throws ConfigError for options that cannot be, and in a call for tokens P or more apart
 */
export const bertRelative = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: BertRelativeConfig, parts: PositionParts = {}): TrainedPosition => {
    const config = checkBert(options);
    const { headDim, maxPositions: P = 512, type = 'relative_key' } = config;
    const mirrored = Int32Array.from({ length: 2 * P - 1 }, (_, r) => 2 * P - 2 - r);
    const index = { from: 1 - P, rows: mirrored };
    const shapes = { table: [2 * P - 1, headDim] };
    return trainedPosition(where, { config, needs: { headDim }, shapes, parts }, (variables) => ({
      tables(_query, [from, to]) {
        if (from <= -P || to > P) {
          throw new ConfigError(where, 'tokens must stand less than maxPositions apart', {
            maxPositions: P,
            distances: `${from} to ${to - 1}`,
          });
        }
        const byDistance = { table: tf.expandDims<tf.Tensor3D>(variables.get('table'), 0), index };
        return { keys: byDistance, ...(type === 'relative_key_query' && { queries: byDistance }) };
      },
    }));
  },
);

function checkBert(options: BertRelativeConfig): BertRelativeConfig {
  const known = ['headDim', 'maxPositions', 'type', 'seed'] as const;
  const config = normalizeOptions(where, 'config', options, known) as BertRelativeConfig;
  const { headDim, maxPositions = 512, type = 'relative_key', seed } = config;
  checkSizes(where, { headDim, maxPositions });
  checkSeed(where, seed);
  checkOneOf(where, 'type', type, ['relative_key', 'relative_key_query']);
  return config;
}
