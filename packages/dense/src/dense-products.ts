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
import { normalizeOptions, type RelaxedSimd, reasonsWithoutHeap } from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { modules } from './module';
import {
  byColumns,
  byRows,
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
  const known = normalizeOptions('denseProducts', 'options', options, ['relaxedSimd']);
  const simd = modules.choose('denseProducts', known.relaxedSimd ?? 'auto');
  const kernelIn = (memory: WebAssembly.Memory) => modules.instanceIn(memory, simd());
  const multiply: Multiply = (shape, multiplication) => multiplyOnHeap(kernelIn, shape, multiplication);
  return {
    name: 'denseProducts',
    prepare: async () => void (await modules.compile(simd(), false)),
    unsupported: reasonsAgainst,
    notes: () => [`${simd()} SIMD, one thread`],
    run: (call) => (isEmpty(call) ? tfjsProducts().run(call) : productOf(call, multiply)),
    gradients: (call, gradient) =>
      isEmpty(call) ? tfjsProducts().gradients(call, gradient) : gradientsOf(call, gradient, multiply),
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
function productOf(call: ProductCall, multiply: Multiply): tf.Tensor3D {
  const { x, weights, bias, transposed } = call;
  const { rows, inDim, outDim } = call.sizes;
  return multiply<tf.Rank.R3>([x.shape[0], x.shape[1], outDim], {
    sizes: { rows, terms: inDim, columns: outDim },
    left: byRows(x, inDim),
    right: rightOf(weights, transposed, call.sizes),
    bias,
  });
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
