// Products of rows with weights by TensorFlow.js, on every backend.
import * as tf from '@tensorflow/tfjs-core';
import { times, timesTransposed, transposedTimes } from '../backend/multiply';
import { withKind } from '../contract/json';
import type { ProductCall, ProductGradients, ProductKernel } from '../contract/products';

const asTheyLie = { transposeA: false, transposeB: false };
const noReasons: readonly string[] = [];

const products: ProductKernel = {
  name: 'tfjsProducts',
  toJSON: () => ({ kind: 'tfjsProducts' }),
  unsupported: () => noReasons,
  run(call) {
    const { x, weights, bias, transposed } = call;
    // One kernel, which leaves nothing to tidy and needs no checks again: a token passes here for each matrix.
    if (x.shape[0] === 1 && x.size > 0 && weights instanceof tf.Tensor && !transposed && !bias)
      return tf.engine().runKernel(tf.BatchMatMul, { a: x, b: weights }, asTheyLie); // [1, S, in] [in, out]
    return tf.tidy(() => (bias ? tf.add(productOf(call), bias) : productOf(call)));
  },
  gradients: (call, gradient) => gradientsOf(call, gradient),
};

/** Products of rows with weights by `tf.matMul`, on every backend: the default. On wasm it keeps a copy of each matrix. */
export const tfjsProducts = /* @__PURE__ */ withKind('tfjsProducts', [], (): ProductKernel => products);

function productOf(call: ProductCall): tf.Tensor3D {
  const { x, transposed, sizes } = call;
  const [B, S] = x.shape;
  const { rows, inDim, outDim } = sizes;
  const shape: [number, number, number] = [B, S, outDim];
  if (rows * inDim * outDim === 0) return tf.zeros(shape);
  const weights = floatsOf(call);
  if (transposed) {
    // The table as it lies is the left factor: the narrow one is transposed.
    const columns = swapped(tf.reshape(x, [rows, inDim])); // [in, R]
    return tf.reshape(swapped(tf.matMul(weights, columns)), shape);
  }
  return tf.reshape(tf.matMul(tf.reshape(x, [1, rows, inDim]), weights as tf.Tensor), shape);
}

function gradientsOf(call: ProductCall, gradient: tf.Tensor3D): ProductGradients {
  const { x, weights, bias, transposed, sizes } = call;
  const { rows, inDim, outDim } = sizes;
  const isTrained = weights instanceof tf.Tensor;
  const g = tf.reshape<tf.Rank.R4>(gradient, [1, 1, rows, outDim]);
  if (rows * inDim * outDim === 0) {
    return {
      x: tf.zerosLike(x),
      ...(isTrained && { weights: tf.zerosLike(weights) }),
      ...(bias && { bias: tf.zerosLike(bias) }),
    };
  }
  const r = tf.reshape<tf.Rank.R4>(x, [1, 1, rows, inDim]);
  const w = tf.reshape<tf.Rank.R4>(floatsOf(call), [1, 1, ...weights.shape]);
  const ofWeights = () => (transposed ? transposedTimes(g, r, 1) : transposedTimes(r, g, 1));
  return {
    x: tf.reshape(transposed ? times(g, w) : timesTransposed(g, w), x.shape),
    ...(isTrained && { weights: tf.reshape(ofWeights(), weights.shape) }),
    ...(bias && { bias: tf.sum<tf.Tensor1D>(g, [0, 1, 2]) }),
  };
}

function floatsOf({ weights }: ProductCall): tf.Tensor2D {
  return weights instanceof tf.Tensor ? weights : weights.toFloats();
}

/** [R, C] as [C, R]; with one row or column the numbers lie as they are. */
function swapped(x: tf.Tensor2D): tf.Tensor2D {
  const [R, C] = x.shape;
  return R === 1 || C === 1 ? tf.reshape(x, [C, R]) : tf.transpose(x);
}
