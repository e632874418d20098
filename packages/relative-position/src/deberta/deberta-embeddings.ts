// Embeddings of distances that several layers of a model share.
import { ConfigError, type NamedVariable, ShapeError } from '@polyhead/core';
import { normalize, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { frozenCopy, ownVariables, type PositionParts, type TrainedPosition } from '../position-method';
import { checkEmbeddingsConfig, type DebertaEmbeddingsConfig, spanOf } from './deberta-config';

/**
 * Embeddings of distances, which `deberta` takes as a part: the variable `embeddings`, [2 span, embedDim], and where they are
 * normalized `gain` and `offset`, [embedDim].
 */
export interface DebertaEmbeddings extends Pick<TrainedPosition, 'getWeights' | 'setWeights'> {
  /** Plain JSON, which makes the embeddings again. */
  readonly config: DebertaEmbeddingsConfig;
  /** Stands before the name of the variable. Default: nothing. */
  readonly name?: string | undefined;
  /** What it trains: `embeddings`, [2 span, embedDim], which is the model's `rel_embeddings`, and those of the norm. */
  readonly variables: readonly NamedVariable[];
  /**
   * The embeddings, normalized where the config says so: [2 span, embedDim].
   *
   * @throws ShapeError once disposed
   */
  vectors(): tf.Tensor2D;
  /** Disposes the variable; twice is once. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON(): object;
}

const where = 'debertaEmbeddings';

/**
 * Embeddings of distances for the position methods of several layers: whoever makes them disposes them.
 *
 * @example
 * const embeddings = debertaEmbeddings({ embedDim: 768, buckets: 256 }, { name: 'encoder' });
 * const positions = layers.map(() => deberta({ embedDim: 768, numHeads: 12, buckets: 256 }, { embeddings }));
 * @throws ConfigError for options that cannot be
 */
export const debertaEmbeddings = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: DebertaEmbeddingsConfig, parts: PositionParts = {}): DebertaEmbeddings => {
    const config = checkEmbeddingsConfig(where, options);
    const { embedDim, normEpsilon: epsilon } = config;
    const norm = epsilon === undefined ? {} : { gain: [embedDim], offset: [embedDim] };
    const shapes = { embeddings: [2 * spanOf(config), embedDim], ...norm };
    const starts = { ...(epsilon !== undefined && { gain: () => tf.ones([embedDim]) }) };
    const { weights, ...owner } = ownVariables(where, { config, shapes, parts, starts });
    return {
      ...owner,
      config: frozenCopy(config),
      vectors() {
        const embeddings = weights.get('embeddings') as tf.Tensor as tf.Tensor2D;
        if (epsilon === undefined) return embeddings;
        const numbers = { gain: weights.get('gain'), offset: weights.get('offset') };
        return normalize(embeddings, { kind: 'layer', epsilon }, numbers);
      },
    };
  },
);

/** @throws ConfigError for what are no embeddings, ShapeError for embeddings of another shape */
export function checkEmbeddings(
  name: string,
  embeddings: DebertaEmbeddings,
  shape: readonly number[],
): DebertaEmbeddings {
  const variable = embeddings.variables?.[0]?.variable;
  if (!variable || typeof embeddings.vectors !== 'function') {
    throw new ConfigError(name, 'parts.embeddings must be made by debertaEmbeddings(config)', { embeddings });
  }
  if (`${variable.shape}` === `${shape}`) return embeddings;
  throw new ShapeError(name, 'parts.embeddings must be [2 span, embedDim]', {
    embeddings: variable,
    'shape needed': shape,
  });
}
