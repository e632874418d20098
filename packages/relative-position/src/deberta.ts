// Disentangled attention of DeBERTa (He et al. 2020, 2006.03654, section 3.1), with the log buckets of version 2:
//
//   score_ij = scale · (q_i · k_j + q_i · (P W^K)_δ + k_j · (P W^Q)_δ),   δ = clip(bucket(i - j) + span, 0, 2 span - 1)
import { ConfigError, type NamedVariable, ShapeError, splitHeads, type VariableShapes } from '@polyhead/core';
import { checkSizes, normalizeOptions, project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkFlags, checkHeads, checkMaxDistance, checkSeed } from './check-options';
import { frozenCopy } from './frozen-copy';
import {
  type PositionParts,
  type TrainedPosition,
  trainedPosition,
  type VariablesByName,
} from './trained-position';

export type DebertaTerm = 'contentToPosition' | 'positionToContent';

export interface DebertaConfig {
  /** E, the width of the embeddings of distances. */
  readonly embedDim: number;
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** D, the size of a head. Default: E / Hq. */
  readonly headDim?: number;
  /** Distances from here on share the last embeddings. Default: 512. */
  readonly maxDistance?: number;
  /** Even. Distances beyond half of it share buckets that widen as powers: `position_buckets`. Default: none share. */
  readonly buckets?: number;
  /** Which terms beside q · k. Default: both. */
  readonly terms?: readonly DebertaTerm[];
  /** A bias after each projection of embeddings. Default: true. */
  readonly useBias?: boolean;
  /** Same config, same start. */
  readonly seed?: number;
}

export interface DebertaParts extends PositionParts {
  /** Embeddings of another object, which keeps them: layers of a model share one table. */
  readonly embeddings?: tf.Variable;
  /**
   * Variables whose `query/…` and `key/…` project the embeddings, those of the layer (`share_att_key`): then the method has
   * no projections of its own. Asked for at each call, since the layer is made after its position method.
   */
  readonly projections?: () => readonly NamedVariable[];
}

const where = 'deberta';
const bothTerms: readonly DebertaTerm[] = ['contentToPosition', 'positionToContent'];

/**
 * What a layer needs beside: its scores are divided by sqrt((1 + terms) · D).
 *
 * @throws ConfigError for options that cannot be
 */
export function debertaLayerOptions(options: DebertaConfig): { readonly scale: number } {
  const { embedDim, numHeads, headDim = embedDim / numHeads, terms = bothTerms } = checkDeberta(options);
  return { scale: 1 / Math.sqrt(headDim * (1 + terms.length)) };
}

/** The bucket of query position - key position: itself up to half of the buckets, then by its logarithm. */
export function debertaBucket(
  relative: number,
  { buckets, maxDistance = 512 }: Pick<DebertaConfig, 'buckets' | 'maxDistance'>,
): number {
  if (buckets === undefined) return relative;
  const half = Math.floor(buckets / 2);
  const n = Math.abs(relative);
  if (n <= half) return relative;
  const steps = (Math.log(n / half) / Math.log((maxDistance - 1) / half)) * (half - 1);
  return Math.sign(relative) * (half + Math.ceil(steps - 1e-9)); // whole steps come out a little too large now and then
}

/**
 * Embeddings of distances, dotted with queries as keys are and with keys as queries are: the variables `embeddings`,
 * [2 span, embedDim], where span is `buckets`, else `maxDistance`, and `key/kernel`, `key/bias`, `query/kernel` and
 * `query/bias`, but for those that parts bring along. The layer needs `debertaLayerOptions`.
 *
 * @throws ConfigError for options that cannot be, ShapeError for embeddings of another shape
 */
export function deberta(options: DebertaConfig, parts: DebertaParts = {}): TrainedPosition {
  const config = checkDeberta(options);
  const { embeddings, projections, ...others } = normalizeOptions(where, 'parts', parts, [
    'embeddings',
    'projections',
    'initializer',
  ]);
  const { embedDim, numHeads, headDim = embedDim / numHeads, seed, terms = bothTerms } = config;
  const { index, span } = indexOf(config);
  const ofEmbeddings = [2 * span, embedDim];
  if (embeddings) checkEmbeddings(embeddings, ofEmbeddings);
  const shapes = {
    ...(!embeddings && { embeddings: ofEmbeddings }),
    ...(!projections && projectionShapes(config)),
  };
  const method = trainedPosition(where, { config, seed, shapes, parts: others }, (own) => {
    const tableOf = (name: 'query' | 'key') => {
      const { kernel, bias } = projections ? layerProjection(projections(), name) : ownProjection(own, name);
      const vectors = tf.expandDims<tf.Tensor3D>(embeddings ?? own.get('embeddings'), 0); // [1, 2 span, E]
      const heads = splitHeads(project(vectors, kernel, bias), numHeads); // [1, Hq, 2 span, D]
      return { table: tf.squeeze<tf.Tensor3D>(heads, [0]), index };
    };
    return {
      tables(query) {
        checkHeads(where, query, { numHeads, headDim });
        return {
          ...(terms.includes('contentToPosition') && { keys: tableOf('key') }),
          ...(terms.includes('positionToContent') && { queries: tableOf('query') }),
        };
      },
    };
  });
  if (!embeddings) return method;
  return { ...method, variables: [{ name: 'embeddings', variable: embeddings }, ...method.variables] };
}

/** The row of each distance, key position - query position; farther ones share the outer rows. */
function indexOf(config: DebertaConfig) {
  const { buckets, maxDistance = 512 } = config;
  const span = buckets ?? maxDistance;
  const rows = Int32Array.from({ length: 2 * maxDistance + 1 }, (_, r) => {
    const row = debertaBucket(maxDistance - r, config) + span;
    return Math.max(0, Math.min(2 * span - 1, row));
  });
  return { index: { from: -maxDistance, rows }, span };
}

function projectionShapes({
  embedDim,
  numHeads,
  headDim = embedDim / numHeads,
  terms = bothTerms,
  useBias = true,
}: DebertaConfig): VariableShapes {
  const width = numHeads * headDim;
  const names = { key: 'contentToPosition', query: 'positionToContent' } as const;
  const shapes = Object.entries(names)
    .filter(([, term]) => terms.includes(term))
    .flatMap(([name]) => [
      [`${name}/kernel`, [embedDim, width]] as const,
      ...(useBias ? [[`${name}/bias`, [width]] as const] : []),
    ]);
  return Object.fromEntries(shapes);
}

function ownProjection(own: VariablesByName, name: string) {
  return { kernel: own.get(`${name}/kernel`), bias: own.find(`${name}/bias`) };
}

function layerProjection(variables: readonly NamedVariable[], name: string) {
  const find = (wanted: string) => variables.find((named) => named.name === wanted)?.variable;
  const kernel = find(`${name}/kernel`);
  if (kernel) return { kernel, bias: find(`${name}/bias`) };
  throw new ConfigError(where, `parts.projections must have ${name}/kernel`, {
    names: variables.map((named) => named.name),
  });
}

function checkEmbeddings(embeddings: tf.Variable, shape: readonly number[]): void {
  if (!embeddings.isDisposed && `${embeddings.shape}` === `${shape}`) return;
  throw new ShapeError(where, 'parts.embeddings must be [2 span, embedDim]', {
    embeddings,
    'shape needed': shape,
  });
}

function checkDeberta(options: DebertaConfig): DebertaConfig {
  const known = [
    'embedDim',
    'numHeads',
    'headDim',
    'maxDistance',
    'buckets',
    'terms',
    'useBias',
    'seed',
  ] as const;
  const config = normalizeOptions(where, 'config', options, known) as DebertaConfig;
  const { embedDim, numHeads, headDim = embedDim / numHeads, maxDistance = 512, buckets, terms } = config;
  checkSizes(where, { embedDim, numHeads, headDim, maxDistance, ...(buckets !== undefined && { buckets }) });
  checkMaxDistance(where, maxDistance);
  checkFlags(where, { useBias: config.useBias });
  checkSeed(where, config.seed);
  if (buckets !== undefined && (buckets < 4 || maxDistance <= buckets / 2 + 1)) {
    throw new ConfigError(where, 'buckets must be at least 4, and half of them less than maxDistance - 1', {
      buckets,
      maxDistance,
    });
  }
  if (buckets !== undefined && buckets % 2 !== 0) {
    throw new ConfigError(where, 'buckets must be even: half of them for each direction', { buckets });
  }
  if (terms !== undefined) checkTerms(terms);
  return frozenCopy(config);
}

function checkTerms(terms: readonly DebertaTerm[]): void {
  const isList = Array.isArray(terms) && terms.length > 0 && new Set(terms).size === terms.length;
  if (isList && terms.every((term) => bothTerms.includes(term))) return;
  throw new ConfigError(where, `terms may name ${bothTerms.join(', ')}, each once`, { terms });
}
