// A box cut out of a tensor, axes of size 1 left as they are.
import * as tf from '@tensorflow/tfjs-core';
import type { Span } from '../contract/mask';
import { emptyOnHeap, hasWasmHeap, viewsOnHeap } from './wasm-heap';

/** One span for each axis. */
export type Box = readonly [Span, Span, Span, Span];

/**
 * The part of x inside the box: x itself where that is all of it.
 *
 * @param x float32 of rank 4; an axis of size 1 broadcasts, and stays, unless its span is empty
 */
export function sliceBox(x: tf.Tensor4D, box: Box): tf.Tensor4D {
  const spans = box.map((span, axis) => (x.shape[axis] === 1 && span[0] < span[1] ? ([0, 1] as Span) : span));
  const shape = spans.map(([from, to]) => to - from) as [number, number, number, number];
  if (shape.every((size, axis) => size === x.shape[axis])) return x;
  const begin = spans.map(([from]) => from) as [number, number, number, number];
  return hasWasmHeap() ? takeOnHeap(x, begin, shape) : tf.slice(x, begin, shape);
}

/** All of an axis. */
export function fullAxis(x: tf.Tensor, axis: number): Span {
  return [0, x.shape[axis]!];
}

type Shape4 = [number, number, number, number];

function takeOnHeap(x: tf.Tensor4D, begin: Shape4, shape: Shape4): tf.Tensor4D {
  const result = emptyOnHeap<tf.Rank.R4>(shape);
  const [from, to] = viewsOnHeap(x, result);
  const [, X1, X2, X3] = x.shape;
  const [n0, n1, n2, n3] = shape;
  const wholeRows = n3 === X3;
  const run = wholeRows ? n2 * n3 : n3;
  let at = 0;
  for (let i = 0; i < n0; i++) {
    for (let j = 0; j < n1; j++) {
      for (let r = 0; r < (wholeRows ? 1 : n2); r++) {
        const source = (((begin[0] + i) * X1 + begin[1] + j) * X2 + begin[2] + r) * X3 + begin[3];
        to.set(from.subarray(source, source + run), at);
        at += run;
      }
    }
  }
  return result;
}
