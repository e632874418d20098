// What a layer costs: parameters, floating-point operations, bytes. Arithmetic from its config; no layer is made.
import { countParameters, type VariableShapes } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import { bitsOf, type CacheStorage, cacheBytes, storageBits } from './cache-bytes';
import { type LayerConfig, type LayerSizes, layerSizes, type ShapesOfVariant } from './layer-config';
import { existingKeys, type PairsCall, pairsOptions, visiblePairs } from './visible-pairs';

/** A call to be counted. */
export interface CostCall extends PairsCall {
  /** Those of `keys` that a cache holds already, which are not projected again. Default: 0. */
  readonly cachedKeys?: number | undefined;
  /** How keys and values lie when the kernel reads them. Default: float32. */
  readonly storage?: CacheStorage | undefined;
  /**
   * The `variableShapes` of the layer's variant, by which parameters are counted and options of its own judged. Default:
   * those of the projections that all variants share.
   */
  readonly variableShapes?: ShapesOfVariant | undefined;
}

/** Floating-point operations: a multiplication and the addition of its product are two. */
export interface Flops {
  /** The projections: queries, keys, values, output, and the output gate where there is one. */
  readonly projections: number;
  /** Q Kᵀ, over visible pairs. */
  readonly scores: number;
  /** Weights times values, over visible pairs. */
  readonly mixing: number;
  /** The sum of these. */
  readonly total: number;
}

/** What one call of one layer costs. */
export interface AttentionCost {
  /** Numbers learned: projections, biases, memory keys and values; not the tables of a position method. */
  readonly parameters: number;
  /** Visible pairs of query and key, over batch and heads, those with memory keys included. */
  readonly pairs: number;
  /** Of a call, and of the gradients of all inputs and variables, which come on top. */
  readonly flops: { readonly forward: Flops; readonly backward: Flops };
  /** Bytes that go through memory in the forward pass. */
  readonly bytesMoved: number;
  /** Forward operations per byte moved: low where memory decides the speed, as in decode. */
  readonly intensity: number;
  /** Of this layer, in one batch entry, for each storage. */
  readonly cacheBytesPerToken: Readonly<Record<CacheStorage, number>>;
}

/**
 * The cost of one call of one layer. Softmax, biases, masks, position methods and the product of the gate with the heads
 * are not counted: they grow with rows and pairs, without the factor of a head size.
 *
 * A backward pass needs two products for each of the forward pass, and scores once more, since a kernel that keeps none
 * computes them again (Dao et al. 2022, 2205.14135). Bytes moved: each projection reads its input and weights and writes
 * its result, and the kernel reads queries, keys and values and writes its output, once each; scores never reach memory.
 * Both are what the best kernel needs; `composed` does some more.
 *
 * @throws ConfigError, ShapeError or UnsupportedError, as `visiblePairs` does, and ConfigError for options unknown here
 * @example
 * const config = { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 };
 * const prefill = attentionCost(config, { queries: 2048, mask: causal() });
 * const decode = attentionCost(config, { queries: 1, keys: 2048, cachedKeys: 2047 });
 */
export function attentionCost(config: LayerConfig, call: CostCall): AttentionCost {
  const where = 'attentionCost';
  const known = [...pairsOptions, 'cachedKeys', 'storage', 'variableShapes'] as const;
  const options = normalizeOptions(where, 'call', call, known) as CostCall;
  const { cachedKeys: _, storage: __, variableShapes, ...pairsCall } = options;
  const sizes = layerSizes(where, config, variableShapes);
  const { batch = 1, queries, keys = queries } = options;
  checkSizes(where, { batch, queries, keys });
  const { variables } = sizes;
  const parameters = countParameters(variables);
  const products = projectionProducts(variables, rowsOf(where, options));
  const pairs = visiblePairs(pairsCall, sizes.numHeads) + batch * sizes.numHeads * queries * sizes.ownKeys;
  const forward = {
    projections: 2 * sum(products.map(({ rows, inWidth, outWidth }) => rows * inWidth * outWidth)),
    scores: 2 * pairs * sizes.headDim,
    mixing: 2 * pairs * sizes.valueHeadDim,
  };
  const projected = sum(products.map(({ rows, inWidth, outWidth }) => rows * (inWidth + outWidth)));
  const bytesMoved = 4 * (parameters + projected) + kernelBytes(where, sizes, options);
  const flops = {
    forward: totalled(forward),
    backward: totalled({
      projections: 2 * forward.projections,
      scores: 3 * forward.scores,
      mixing: 2 * forward.mixing,
    }),
  };
  const intensity = flops.forward.total / bytesMoved;
  return { parameters, pairs, flops, bytesMoved, intensity, cacheBytesPerToken: bytesPerToken(sizes) };
}

type Projection = 'query' | 'key' | 'value' | 'output' | 'gate';

/** Tokens that each projection turns. */
function rowsOf(where: string, call: CostCall): Record<Projection, number> {
  const { batch = 1, queries, keys = queries, cachedKeys = 0 } = call;
  const fits = (n: number) => Number.isInteger(n) && n >= 0 && n <= keys;
  checkNumber(where, 'cachedKeys', cachedKeys, [fits, `a whole number from 0 to ${keys}, the keys`]);
  const [ofQueries, ofKeys] = [batch * queries, batch * (keys - cachedKeys)];
  return { query: ofQueries, key: ofKeys, value: ofKeys, output: ofQueries, gate: ofQueries };
}

/** The products [rows, in] × [in, out] of the projections that the layer has. */
function projectionProducts(variables: VariableShapes, rows: Record<Projection, number>) {
  return Object.entries(rows).flatMap(([name, count]) => {
    const kernel = variables[`${name}/kernel`] as readonly [number, number] | undefined;
    return kernel ? [{ rows: count, inWidth: kernel[0], outWidth: kernel[1] }] : [];
  });
}

/** Queries and output as float32, keys and values as they lie. */
function kernelBytes(where: string, sizes: LayerSizes, call: CostCall): number {
  const { numHeads, numKeyValueHeads, headDim, valueHeadDim, ownKeys } = sizes;
  const { batch = 1, queries, storage = 'float32' } = call;
  const rowSize = headDim + valueHeadDim;
  const stored = existingKeys(where, call) * numKeyValueHeads * rowSize * (bitsOf(where, storage) / 8);
  return 4 * rowSize * (batch * queries * numHeads + ownKeys * numKeyValueHeads) + stored;
}

function bytesPerToken({
  numKeyValueHeads,
  headDim,
  valueHeadDim,
}: LayerSizes): Record<CacheStorage, number> {
  const shape = { batch: 1, heads: numKeyValueHeads, keySize: headDim, valueSize: valueHeadDim };
  const storages = Object.keys(storageBits) as CacheStorage[];
  const entries = storages.map((storage) => [storage, cacheBytes(shape, { tokens: 1, storage })]);
  return Object.fromEntries(entries);
}

function totalled(parts: Omit<Flops, 'total'>): Flops {
  return { ...parts, total: parts.projections + parts.scores + parts.mixing };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
