// Loops over the numbers of tensors on the host: in place where they lie on the heap of wasm.
import * as tf from '@tensorflow/tfjs-core';
import { emptyOnHeap, floatsOnHeap, hasWasmHeap } from './wasm-heap';

/**
 * A tensor whose numbers a loop writes; on wasm they are written where they stay.
 *
 * @param write gets an array for all numbers, whatever it holds; it must not make tensors
 */
export function writeTensor<R extends tf.Rank>(
  shape: tf.ShapeMap[R],
  write: (result: Float32Array) => void,
): tf.Tensor<R> {
  if (hasWasmHeap()) {
    const tensor = emptyOnHeap<R>(shape);
    write(floatsOnHeap(tensor));
    return tensor;
  }
  const result = new Float32Array(tf.util.sizeFromShape([...shape]));
  write(result);
  return uploaded<R>(result, shape);
}

/**
 * A tensor whose numbers a loop makes of those of others; only for backends that have a synchronous read.
 *
 * @param from float32
 * @param write gets the numbers of `from` in their order, and an array of zeros for the result
 */
export function computeOnHost<R extends tf.Rank>(
  from: readonly tf.Tensor[],
  shape: tf.ShapeMap[R],
  write: (from: readonly Float32Array[], result: Float32Array) => void,
): tf.Tensor<R> {
  if (!hasWasmHeap()) {
    const numbers = from.map((x) => x.dataSync() as Float32Array);
    return writeTensor(shape, (result) => write(numbers, result));
  }
  for (const x of from) floatsOnHeap(x); // moves it here, if need be, before there is space for the result
  return writeTensor(shape, (result) => write(from.map(floatsOnHeap), result.fill(0)));
}

/** One number to broadcast, of any value. `tf.scalar` refuses -Infinity and NaN in tfjs's debug mode. */
export function constant(value: number): tf.Tensor {
  return uploaded(Float32Array.of(value), []);
}

/** In tfjs's debug mode `tf.tensor` refuses -Infinity, which hides pairs here. */
function uploaded<R extends tf.Rank>(numbers: Float32Array, shape: tf.ShapeMap[R]): tf.Tensor<R> {
  return tf.engine().makeTensor(numbers, [...shape], 'float32') as tf.Tensor<R>;
}
