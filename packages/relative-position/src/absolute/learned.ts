// Absolute positions as learned vectors, added to embeddings (Gehring et al. 2017, 1705.03122; BERT, GPT-2).
import { ConfigError } from '@polyhead/core';
import { differentiable } from '@polyhead/core/kernel';
import { addBroadcast, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkSeed } from '../check-options';
import { frozenCopy, ownVariables, type PositionParts, type TrainedPosition } from '../position-method';
import { type AbsolutePosition, tokensOf } from './absolute-position';

/** A learned vector for each position. */
export interface LearnedConfig {
  /** E, the width of the embeddings. */
  readonly embedDim: number;
  /** How many positions there are: 0 to maxPositions - 1. */
  readonly maxPositions: number;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 'learned';

/**
 * The variable `table`, [maxPositions, embedDim]. Positions below 0, those of padding at the left, get row 0.
 *
 * @throws ConfigError for options that cannot be, and in a call for positions past the end of the table
 */
export const learned = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (
    options: LearnedConfig,
    parts: PositionParts = {},
  ): AbsolutePosition & Pick<TrainedPosition, 'getWeights' | 'setWeights'> => {
    const config = normalizeOptions(where, 'config', options, [
      'embedDim',
      'maxPositions',
      'seed',
    ]) as LearnedConfig;
    const { embedDim, maxPositions, seed } = config;
    checkSizes(where, { embedDim, maxPositions });
    checkSeed(where, seed);
    const shapes = { table: [maxPositions, embedDim] };
    const { weights, ...owner } = ownVariables(where, { config, shapes, parts });
    return {
      ...owner,
      config: frozenCopy(config),
      addTo(embeddings, at) {
        const { positions, entries, S } = tokensOf(where, embeddings, { at, embedDim });
        const last = positions.reduce((most, position) => Math.max(most, position), 0);
        if (last >= maxPositions) {
          throw new ConfigError(where, 'positions must be below maxPositions: the table ends there', {
            position: last,
            maxPositions,
          });
        }
        const rows = positions.map((position) => Math.max(0, position));
        return tf.tidy(() => {
          const vectors = tf.reshape(rowsOf(weights.get('table'), rows), [entries, S, embedDim]);
          return addBroadcast(embeddings, vectors);
        });
      },
    };
  },
);

/** [rows, E]. tfjs's own gradient of `gather` fails on wasm; `scatterND` sums where rows meet. */
function rowsOf(table: tf.Tensor, rows: Int32Array): tf.Tensor {
  const { shape } = table;
  return differentiable(
    { inputs: [table] },
    ([x]) => tf.gather(x!, tf.tensor1d(rows, 'int32')),
    (gradient) => [tf.scatterND(tf.tensor2d(rows, [rows.length, 1], 'int32'), gradient, shape)],
  );
}
