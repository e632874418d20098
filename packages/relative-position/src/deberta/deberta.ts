// Disentangled attention of DeBERTa (He et al. 2020, 2006.03654, section 3.1), with the log buckets of version 2:
//
//   score_ij = scale · (q_i · k_j + q_i · (P W^K)_δ + k_j · (P W^Q)_δ),   δ = clip(bucket(i - j) + span, 0, 2 span - 1)
import { ConfigError, type LayerWeights, ShapeError, splitHeads, type VariableShapes } from '@polyhead/core';
import { project, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type PositionParts, type TrainedPosition, trainedPosition } from '../position-method';
import { bothTerms, checkDeberta, type DebertaConfig, spanOf } from './deberta-config';
import { checkEmbeddings, type DebertaEmbeddings } from './deberta-embeddings';
import { distanceRows } from './distance-rows';

/** Objects that the method works with; never part of its config. */
export interface DebertaParts extends PositionParts {
  /** Embeddings that layers of a model share, in place of its own. */
  readonly embeddings?: DebertaEmbeddings | undefined;
}

const where = 'deberta';

/**
 * Embeddings of distances, dotted with queries as keys are and with keys as queries are: the variables `embeddings`,
 * [2 span, embedDim], where span is `buckets`, else `maxDistance`, and `key/kernel`, `key/bias`, `query/kernel` and
 * `query/bias`. Embeddings that are given, and projections of the layer, take the place of its own. A layer's scale is
 * 1 / sqrt((1 + terms) · D), unless its config gives another.
 *
 * @throws ConfigError for options that cannot be, ShapeError for embeddings of another shape
 */
export const deberta = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: DebertaConfig, parts: DebertaParts = {}): TrainedPosition => {
    const config = checkDeberta(where, options);
    const { embeddings } = parts ?? {};
    const { embedDim, numHeads, headDim = embedDim / numHeads, terms = bothTerms } = config;
    const shapeOfEmbeddings = [2 * spanOf(config), embedDim];
    const shared = embeddings ? checkEmbeddings(where, embeddings, shapeOfEmbeddings) : undefined;
    const shapes = {
      ...(!shared && { embeddings: shapeOfEmbeddings }),
      ...(config.projections !== 'layer' && projectionShapes(config)),
    };
    const indexOf = distanceRows(config);
    const described = { config, needs: { numHeads, headDim }, shapes, parts, others: { embeddings: shared } };
    const method = trainedPosition(where, described, (own) => {
      const weightsOf = (layer?: LayerWeights): LayerWeights =>
        config.projections === 'layer'
          ? weightsOfLayer(config, layer)
          : { name: where, weight: (name) => own.find(name) };
      return {
        scale: 1 / Math.sqrt(headDim * (1 + terms.length)),
        tables(_query, distances, layer) {
          const vectors = tf.expandDims<tf.Tensor3D>(shared ? shared.vectors() : own.get('embeddings'), 0);
          const index = indexOf(distances);
          const projected = (name: 'query' | 'key') => {
            const { weight } = weightsOf(layer);
            const rows = project(vectors, weight(`${name}/kernel`)!, weight(`${name}/bias`)); // [1, 2 span, Hq D]
            return { table: tf.squeeze<tf.Tensor3D>(splitHeads(rows, numHeads), [0]), index }; // [Hq, 2 span, D]
          };
          return {
            ...(terms.includes('contentToPosition') && { keys: projected('key') }),
            ...(terms.includes('positionToContent') && { queries: projected('query') }),
          };
        },
      };
    });
    const onlyShared = method.variables.length === 0;
    return {
      ...method,
      name: method.name ?? (onlyShared ? shared?.name : undefined),
      variables: [...(shared?.variables ?? []), ...method.variables],
      check(sizes) {
        method.check?.(sizes);
        if (config.projections === 'layer') checkEqualHeads(sizes);
      },
    };
  },
);

function projectionShapes({
  embedDim,
  numHeads,
  headDim = embedDim / numHeads,
  terms = bothTerms,
  useBias = true,
}: DebertaConfig): VariableShapes {
  const width = numHeads * headDim;
  const shapes: Record<string, readonly number[]> = {};
  for (const [name, term] of [
    ['key', 'contentToPosition'],
    ['query', 'positionToContent'],
  ] as const) {
    if (!terms.includes(term)) continue;
    shapes[`${name}/kernel`] = [embedDim, width];
    if (useBias) shapes[`${name}/bias`] = [width];
  }
  return shapes;
}

/** The layer's own projections of queries and keys, which must take embeddings and give heads. */
function weightsOfLayer(
  { embedDim, numHeads, headDim = embedDim / numHeads }: DebertaConfig,
  layer: LayerWeights | undefined,
): LayerWeights {
  if (!layer)
    throw new ConfigError(where, "projections: 'layer' needs the layer, as the last argument of tables");
  for (const name of ['query/kernel', 'key/kernel']) {
    const kernel = layer.weight(name);
    if (`${kernel?.shape}` === `${[embedDim, numHeads * headDim]}`) continue;
    throw new ShapeError(where, `the layer's ${name} must project embeddings to heads`, {
      [name]: kernel,
      'shape needed': [embedDim, numHeads * headDim],
    });
  }
  return layer;
}

function checkEqualHeads({
  numHeads,
  numKeyValueHeads,
}: {
  readonly numHeads: number;
  readonly numKeyValueHeads: number;
}): void {
  if (numHeads === numKeyValueHeads) return;
  throw new ConfigError(where, "projections: 'layer' needs a key head for each query head", {
    numHeads,
    numKeyValueHeads,
  });
}
