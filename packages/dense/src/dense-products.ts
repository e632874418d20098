// Products of rows with weights in WebAssembly, on the tensors of tfjs's wasm backend as they lie.
import {
  type ProductCall,
  type ProductGradients,
  type ProductKernel,
  type ProductWeights,
  type QuantizedWeights,
  type StoredWeights,
  tfjsProducts,
} from '@polyhead/core';
import { normalizeOptions, type RelaxedSimd, reasonsWithoutHeap, ThreadPool } from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { modules } from './module';
import {
  byColumns,
  byRows,
  costOf,
  type Factor,
  formats,
  type Multiplication,
  multiplyOnHeap,
} from './multiply-on-heap';

/** How it computes; results are the same but for rounding. */
export interface DenseOptions {
  /**
   * Relaxed SIMD, about a quarter faster. 'auto': where the engine knows it. false: never. true: switched on where the engine
   * has it behind a flag, as Node 20 does; the flag holds for the whole process. Default: 'auto'.
   */
  readonly relaxedSimd?: RelaxedSimd | undefined;
  /**
   * How many threads compute, the caller's among them, from when `prepare` has been awaited until `dispose`; a small product has
   * one. 1 to 256. Results are the same to the bit. Where tfjs's memory is not shared, as in Node, tensors are copied at each
   * product, weights too, into workspace that is kept. Default: as many as tfjs itself has on wasm, which is one but in an isolated page.
   */
  readonly threads?: number | undefined;
}

/**
 * Products of rows with weights on the heap of tfjs's wasm backend, with gradients: up to twice as fast as
 * `tf.matMul`, and without its packed copy of each matrix of weights, which doubles their memory.
 *
 * @example setDefaultProducts(denseProducts());
 * @throws ConfigError for options that cannot be
 */
export const denseProducts = /* @__PURE__ */ withKind('denseProducts', ['options'], makeDenseProducts);

function makeDenseProducts(options: DenseOptions = {}): ProductKernel {
  const known = normalizeOptions('denseProducts', 'options', options, ['relaxedSimd', 'threads']);
  const simd = modules.choose('denseProducts', known.relaxedSimd ?? 'auto');
  const kernelIn = (memory: WebAssembly.Memory) => modules.instanceIn(memory, simd());
  const pool = new ThreadPool('denseProducts', { modules, simd, threads: known.threads });
  const multiplier = { kernelIn, pool };
  const multiply: Multiply = (shape, multiplication) => multiplyOnHeap(multiplier, shape, multiplication);
  return {
    name: 'denseProducts',
    async prepare() {
      await Promise.all([modules.compile(simd(), false), pool.start()]);
    },
    unsupported: reasonsAgainst,
    notes: (call) => [`${simd()} SIMD, ${pool.note(costOf(productOf(call)))}`],
    run: (call) =>
      isEmpty(call) ? tfjsProducts().run(call) : multiply<tf.Rank.R3>(shapeOf(call), productOf(call)),
    gradients: (call, gradient) =>
      isEmpty(call) ? tfjsProducts().gradients(call, gradient) : gradientsOf(call, gradient, multiply),
    dispose: () => pool.end('the products are disposed'),
    toJSON: () => ({ kind: 'denseProducts', options: known }),
  };
}

type Multiply = <R extends tf.Rank>(shape: tf.ShapeMap[R], multiplication: Multiplication) => tf.Tensor<R>;

function reasonsAgainst({ weights }: ProductCall): string[] {
  return [
    ...reasonsWithoutHeap('tfjsProducts()'),
    ...(weights instanceof tf.Tensor || isInBlocks(weights)
      ? []
      : [`weights in format "${weights.format}" are not known`]),
  ];
}

/** `QuantizedWeights`, of whichever copy of core. */
function isInBlocks(weights: StoredWeights): weights is QuantizedWeights {
  return Object.hasOwn(formats, weights.format) && 'blocks' in weights.tensors;
}

function isEmpty({ sizes: { rows, inDim, outDim } }: ProductCall): boolean {
  return rows * inDim * outDim === 0;
}

/** x W + b */
function productOf({ x, weights, bias, transposed, sizes }: ProductCall): Multiplication {
  const { rows, inDim, outDim } = sizes;
  return {
    sizes: { rows, terms: inDim, columns: outDim },
    left: byRows(x, inDim),
    right: rightOf(weights, transposed, sizes),
    bias,
  };
}

function shapeOf({ x, sizes }: ProductCall): tf.ShapeMap[tf.Rank.R3] {
  return [x.shape[0], x.shape[1], sizes.outDim];
}

function rightOf(
  weights: ProductWeights,
  transposed: boolean,
  { inDim, outDim }: ProductCall['sizes'],
): Factor | QuantizedWeights {
  if (!(weights instanceof tf.Tensor)) return weights as QuantizedWeights;
  return transposed ? byRows(weights, inDim) : byColumns(weights, outDim);
}

/** g Wᵀ, xᵀ g, and the sum of the rows of g. */
function gradientsOf(call: ProductCall, gradient: tf.Tensor3D, multiply: Multiply): ProductGradients {
  const { x, weights, bias, transposed } = call;
  const { rows, inDim, outDim } = call.sizes;
  const isTrained = weights instanceof tf.Tensor;
  const matrix = isTrained ? weights : weights.toFloats();
  const [outer, outerDim, inner, innerDim] = transposed
    ? [gradient, outDim, x, inDim]
    : [x, inDim, gradient, outDim];
  return {
    x: multiply<tf.Rank.R3>(x.shape, {
      sizes: { rows, terms: outDim, columns: inDim },
      left: byRows(gradient, outDim),
      right: transposed ? byColumns(matrix, inDim) : byRows(matrix, outDim),
    }),
    ...(isTrained && {
      weights: multiply<tf.Rank.R2>([outerDim, innerDim], {
        sizes: { rows: outerDim, terms: rows, columns: innerDim },
        left: byColumns(outer, outerDim),
        right: byColumns(inner, innerDim),
      }),
    }),
    ...(bias && {
      bias: multiply<tf.Rank.R1>([outDim], {
        sizes: { rows: 1, terms: rows, columns: outDim },
        left: byRows(tf.ones([rows]), rows),
        right: byColumns(gradient, outDim),
      }),
    }),
  };
}
