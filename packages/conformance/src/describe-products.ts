// The suite that every product kernel passes, on every backend: products of rows with weights and their gradients against
// sums in doubles.
import type { ProductCall, ProductKernel } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectFlatHeap, expectSameMemory, memoryNow } from './memory';

/** A product kernel, and all that the suite is told of it. */
export interface ProductSuite {
  readonly create: () => ProductKernel;
  /** Backends that it runs on. Default: all. Elsewhere it must say why not, and layers multiply without it. */
  readonly backends?: readonly string[];
}

/** Rows, numbers of a row, numbers of its product; sums of more than 512 terms are cut into parts by some kernels. */
const sizes: readonly (readonly [number, number, number])[] = [
  ...[1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 33, 67].map(
    (n, k) => [n, [1, 8, 67, 5][k % 4]!, [67, 3, 9, 1][k % 4]!] as const,
  ),
  ...[1, 2, 5, 8, 12, 31, 64].map((n, k) => [[1, 6, 11][k % 3]!, n, 40 - n / 2] as const),
  ...[1, 4, 10, 24, 65].map((n, k) => [[1, 3, 14][k % 3]!, 30 + k, n] as const),
  [100, 9, 70],
  [1, 600, 20],
  [3, 1100, 9],
  [9, 1030, 11],
  [2, 3, 4096],
  [1, 3, 4095],
  [7, 2, 4096],
  [2, 4096, 5],
  [1, 4095, 3],
  [13, 4096, 2],
].map(([R, I, O]) => [R!, I!, Math.floor(O!)] as const);

/** Runs the suite on a product kernel, which is prepared first. */
export function describeProducts(name: string, { create, backends }: ProductSuite): void {
  let kernel: ProductKernel | undefined;
  const products = () => {
    kernel ??= create();
    return kernel;
  };
  beforeAll(() => products().prepare?.());
  // Asked when tests run: the backend is set then.
  const isHere = () => backends?.includes(tf.getBackend()) ?? true;
  const multiply = (x: tf.Tensor, w: tf.Tensor, bias: tf.Tensor | undefined, transposed: boolean) =>
    project(x, w, bias, { products: products(), transposed });

  it(`${name} says why it cannot run, where it cannot`, () => {
    expect(products().unsupported(callOf(2, 3, 4)).length > 0).toBe(!isHere());
  });

  describe(`${name}: products`, () => {
    beforeEach(({ skip }) => skip(!isHere(), 'what multiplies in its place has a suite of its own'));

    it.each([false, true])('are those of doubles, in every size; table: %s', (transposed) => {
      for (const [R, I, O] of sizes) {
        tf.tidy(() => {
          const { x, w, bias } = inputs(R, I, O, transposed);
          const by = strides(I, O, transposed);
          expectNear(multiply(x, w, bias, transposed), sumsOf([x, [I, 1]], [w, by], [R, I, O], bias), [
            R,
            I,
            O,
          ]);
          expectNear(multiply(x, w, undefined, transposed), sumsOf([x, [I, 1]], [w, by], [R, I, O]), [
            R,
            I,
            O,
          ]);
        });
      }
    });

    it.each([false, true])('have the gradients of doubles, in every size; table: %s', (transposed) => {
      for (const [R, I, O] of sizes) {
        tf.tidy(() => {
          const { x, w, bias, gradient } = inputs(R, I, O, transposed);
          const f = (...all: tf.Tensor[]) => multiply(all[0]!, all[1]!, all[2], transposed);
          const [ofX, ofW, ofBias] = tf.grads(f)([x, w, bias], gradient) as [tf.Tensor, tf.Tensor, tf.Tensor];
          const [ofIn, ofOut] = strides(I, O, transposed);
          expectNear(ofX, sumsOf([gradient, [O, 1]], [w, [ofOut, ofIn]], [R, O, I]), [R, O, I]);
          const outer = sumsOf([x, [1, I]], [gradient, [O, 1]], [I, R, O]);
          expectNear(transposed ? tf.transpose(ofW) : ofW, outer, [I, R, O]);
          const ones = tf.ones([1, R]);
          expectNear(ofBias, sumsOf([ones, [R, 1]], [gradient, [O, 1]], [1, R, O]), [1, R, O]);
        });
      }
    });

    it.each([1, 3, 20])('of rows that hold NaN and Infinity are of these rows only, %d rows', (R) => {
      tf.tidy(() => {
        const { x, w, gradient } = inputs(R + 2, 9, 10, false);
        const spoiled = tf.concat(
          [tf.fill([1, 1, 9], Number.NaN), tf.slice(x, [0, 1, 0], [1, R, 9]), tf.fill([1, 1, 9], Infinity)],
          1,
        );
        const rows = (y: tf.Tensor) => tf.slice(y, [0, 1, 0], [1, R, -1]);
        const expected = sumsOf([rows(x), [9, 1]], [w, [10, 1]], [R, 9, 10]);
        expectNear(rows(multiply(spoiled, w, undefined, false)), expected, [R, 9, 10]);
        // Rows whose gradient is 0 have no influence on that of the weights.
        const silent = tf.concat([tf.zeros([1, 1, 10]), rows(gradient), tf.zeros([1, 1, 10])], 1);
        const [, ofW] = tf.grads((a, b) => multiply(a, b, undefined, false))([spoiled, w], silent);
        expectNear(ofW!, sumsOf([rows(x), [1, 9]], [rows(gradient), [10, 1]], [9, R, 10]), [9, R, 10]);
      });
    });

    it.each([
      [0, 3],
      [2, 0],
    ])('of nothing are nothing: %d entries of %d tokens', (B, S) => {
      tf.tidy(() => {
        const [x, w, bias] = [tf.zeros([B, S, 4]), tf.ones([4, 2]), tf.ones([2])];
        expect(multiply(x, w, bias, false).shape).toEqual([B, S, 2]);
        const gradients = tf.grads((...all) => tf.sum(multiply(all[0]!, all[1]!, all[2], false)))([
          x,
          w,
          bias,
        ]);
        expect(gradients.map((gradient) => [...gradient.dataSync()])).toEqual([[], Array(8).fill(0), [0, 0]]);
      });
    });

    it('leave exactly their results, and the heap flat', () => {
      const { x, w, bias, gradient } = inputs(20, 40, 30, false);
      const before = memoryNow();
      multiply(x, w, bias, false).dispose();
      const f = (...all: tf.Tensor[]) => multiply(all[0]!, all[1]!, all[2], false);
      for (const of of tf.grads(f)([x, w, bias], gradient)) of.dispose();
      expectSameMemory(before);
      expectFlatHeap(() => void tf.grads(f)([x, w, bias], gradient), 300);
      tf.dispose([x, w, bias, gradient]);
    });

    it('are of tensors of another backend, too', async () => {
      const here = tf.getBackend();
      await tf.setBackend('cpu');
      const { x, w, bias } = inputs(3, 9, 10, false);
      await tf.setBackend(here);
      const expected = sumsOf([x, [9, 1]], [w, [10, 1]], [3, 9, 10], bias);
      const product = multiply(x, w, bias, false);
      expectNear(product, expected, [3, 9, 10]);
      tf.dispose([x, w, bias, product]);
    });
  });
}

/** What it is asked about. */
function callOf(R: number, I: number, O: number): ProductCall {
  return {
    x: tf.zeros([1, R, I]),
    weights: tf.zeros([I, O]),
    transposed: false,
    sizes: { rows: R, inDim: I, outDim: O },
  };
}

function inputs(R: number, I: number, O: number, transposed: boolean) {
  const normal = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed + R + I);
  return {
    x: normal([1, R, I], 1),
    w: normal(transposed ? [O, I] : [I, O], 2),
    bias: normal([O], 3),
    gradient: normal([1, R, O], 4),
  };
}

/** Steps between terms and between outputs of the weights. */
function strides(I: number, O: number, transposed: boolean): readonly [number, number] {
  return transposed ? [1, I] : [O, 1];
}

/** A matrix, and its steps from row to row and from column to column. */
type Strided = readonly [tf.Tensor, readonly [number, number]];

/** left right + bias in doubles, and what the parts of each sum are together. */
function sumsOf(
  [left, [ofRow, ofLeftTerm]]: Strided,
  [right, [ofRightTerm, ofColumn]]: Strided,
  [rows, terms, columns]: readonly [number, number, number],
  bias?: tf.Tensor,
) {
  const [a, b, c] = [left.dataSync(), right.dataSync(), bias?.dataSync()];
  const sums = new Float64Array(rows * columns);
  const parts = new Float64Array(rows * columns);
  for (let n = 0; n < sums.length; n++) {
    const [r, o] = [Math.floor(n / columns), n % columns];
    sums[n] = c?.[o] ?? 0;
    parts[n] = Math.abs(sums[n]!);
    for (let t = 0; t < terms; t++) {
      const part = a[r * ofRow + t * ofLeftTerm]! * b[t * ofRightTerm + o * ofColumn]!;
      sums[n]! += part;
      parts[n]! += Math.abs(part);
    }
  }
  return { sums, parts };
}

/** Within the roundings of float32: each sum may be off by one for each of its parts, which rarely lean to one side. */
function expectNear(
  actual: tf.Tensor,
  { sums, parts }: ReturnType<typeof sumsOf>,
  [rows, terms, columns]: readonly number[],
): void {
  const numbers = actual.dataSync();
  expect(numbers.length).toBe(sums.length);
  const roundings = 2 ** -24 * (4 + 2 * Math.sqrt(terms!));
  const far = sums.findIndex((sum, n) => !(Math.abs(numbers[n]! - sum) <= roundings * parts[n]!));
  if (far < 0) return;
  throw new Error(
    `[${rows}, ${terms}] by [${terms}, ${columns}]: number ${far} is ${numbers[far]}, must be ${sums[far]}`,
  );
}
