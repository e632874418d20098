// Embeddings of distances that several layers of a model share.
import { ConfigError, type NamedVariable, ShapeError } from '@polyhead/core';
import { withKind } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { frozenCopy, ownVariables, type PositionParts, type TrainedPosition } from '../position-method';
import { checkEmbeddingsConfig, type DebertaEmbeddingsConfig, spanOf } from './deberta-config';

/** Embeddings of distances, which `deberta` takes as a part: the variable `embeddings`, [2 span, embedDim]. */
export interface DebertaEmbeddings extends Pick<TrainedPosition, 'getWeights' | 'setWeights'> {
  /** Plain JSON, which makes the embeddings again. */
  readonly config: DebertaEmbeddingsConfig;
  /** Stands before the name of the variable. Default: nothing. */
  readonly name?: string | undefined;
  /** What it trains: `embeddings`, [2 span, embedDim], which is the model's `rel_embeddings`. */
  readonly variables: readonly NamedVariable[];
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
    const shapes = { embeddings: [2 * spanOf(config), config.embedDim] };
    const { weights: _, ...owner } = ownVariables(where, { config, shapes, parts });
    return { ...owner, config: frozenCopy(config) };
  },
);

/** @throws ConfigError for what are no embeddings, ShapeError for embeddings of another shape */
export function checkEmbeddings(
  name: string,
  embeddings: DebertaEmbeddings,
  shape: readonly number[],
): DebertaEmbeddings {
  const variable = embeddings.variables?.[0]?.variable;
  if (!variable) {
    throw new ConfigError(name, 'parts.embeddings must be made by debertaEmbeddings(config)', { embeddings });
  }
  if (`${variable.shape}` === `${shape}`) return embeddings;
  throw new ShapeError(name, 'parts.embeddings must be [2 span, embedDim]', {
    embeddings: variable,
    'shape needed': shape,
  });
}

/** @throws ShapeError where they are disposed */
export function variableOf(name: string, { variables: [embeddings] }: DebertaEmbeddings): tf.Variable {
  const { variable } = embeddings!;
  if (!variable.isDisposed) return variable;
  throw new ShapeError(name, 'parts.embeddings must not be disposed', { embeddings: variable });
}
