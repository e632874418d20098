import * as tf from '@tensorflow/tfjs-core';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProductCall, ProductKernel, StoredWeights } from '../contract/products';
import { setDefaultProducts } from './default-products';
import { project } from './project';
import { tfjsProducts } from './tfjs-products';

/** tfjs's products under another name, which notes what it is asked. */
function noting(name: string, refuses: readonly string[] = []) {
  const calls: ProductCall[] = [];
  const products: ProductKernel = {
    name,
    unsupported: () => refuses,
    run(call) {
      calls.push(call);
      return tfjsProducts().run(call);
    },
    gradients: (call, gradient) => tfjsProducts().gradients(call, gradient),
  };
  return { products, calls };
}

const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

/** x W in doubles; W [in, out] by its two strides. */
function oracle(x: tf.Tensor, w: tf.Tensor, [ofIn, ofOut]: readonly [number, number]): number[] {
  const [a, b] = [x.dataSync(), w.dataSync()];
  const inDim = x.shape.at(-1)!;
  const outDim = w.size / inDim;
  return Array.from({ length: (x.size / inDim) * outDim }, (_, n) => {
    const [r, o] = [Math.floor(n / outDim), n % outDim];
    let sum = 0;
    for (let i = 0; i < inDim; i++) sum += a[r * inDim + i]! * b[i * ofIn + o * ofOut]!;
    return sum;
  });
}

function expectNear(actual: tf.Tensor, expected: readonly number[]): void {
  const numbers = actual.dataSync();
  expect(numbers.length).toBe(expected.length);
  expected.forEach((x, n) => {
    expect(Math.abs(numbers[n]! - x)).toBeLessThan(1e-5);
  });
}

afterEach(() => setDefaultProducts(undefined));

describe('project', () => {
  it.each([
    [1, 1],
    [1, 5],
    [3, 2],
  ])('multiplies matrices and tables, %d entries of %d tokens', (B, S) => {
    const x = random([B, S, 7], 1);
    const [matrix, table] = [random([7, 4], 2), random([4, 7], 3)];
    expectNear(project(x, matrix), oracle(x, matrix, [4, 1]));
    expectNear(project(x, table, undefined, { transposed: true }), oracle(x, table, [1, 7]));
    const bias = random([4], 4);
    const without = oracle(x, matrix, [4, 1]);
    expectNear(
      project(x, matrix, bias),
      without.map((y, n) => y + bias.dataSync()[n % 4]!),
    );
  });

  it('has the gradients of a product, by matrix and by table', () => {
    const x = random([2, 3, 5], 1);
    const [matrix, bias] = [random([5, 4], 2), random([4], 3)];
    const gradient = random([2, 3, 4], 4);
    const of = (f: (x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) => tf.Tensor, w: tf.Tensor) =>
      tf.grads(f as never)([x, w, bias], gradient);
    const plain = of(
      (a, w, b) => tf.add(tf.reshape(tf.matMul(tf.reshape(a, [6, 5]), w as tf.Tensor2D), [2, 3, 4]), b),
      matrix,
    );
    const ours = of((a, w, b) => project(a, w, b), matrix);
    const byTable = of((a, w, b) => project(a, w, b, { transposed: true }), tf.transpose(matrix));
    plain.forEach((expected, n) => {
      expectNear(ours[n]!, [...expected.dataSync()]);
      const gradient = n === 1 ? tf.transpose(byTable[n]!) : byTable[n]!;
      expectNear(gradient, [...expected.dataSync()]);
    });
  });

  it('takes weights that are no floats, which have no gradient', () => {
    const table = random([4, 6], 1);
    const weights: StoredWeights = {
      format: 'mine',
      shape: [4, 6],
      tensors: { table },
      toFloats: () => tf.clone(table) as tf.Tensor2D,
      dispose: () => table.dispose(),
    };
    const x = random([1, 3, 6], 2);
    expectNear(project(x, weights), oracle(x, table, [1, 6]));
    const gradient = tf.grad((y) => tf.sum(project(y, weights)))(x);
    const expected = tf.tile(tf.sum(table, 0, true), [3, 1]);
    expectNear(gradient, [...expected.dataSync()]);
  });

  it('leaves exactly its result', () => {
    const [x, w, b] = [random([2, 3, 5], 1), random([5, 4], 2), random([4], 3)];
    const before = tf.memory().numTensors;
    for (const transposed of [false, true]) {
      project(x, transposed ? tf.tidy(() => tf.transpose(w)) : w, b, { transposed }).dispose();
    }
    expect(tf.memory().numTensors).toBeLessThanOrEqual(before + 1);
  });

  it('says what must hold', () => {
    expect(() => project(tf.ones([1, 2, 3]), tf.ones([4, 3]))).toThrow(/kernel must be \[in, out\]/);
    expect(() => project(tf.ones([1, 2, 3]), tf.ones([3, 4]), tf.ones([3]))).toThrow(/bias \[out\]/);
    expect(() => project(tf.ones([1, 2, 3]), 5 as never)).toThrow(/kernel must be a tensor/);
  });
});

describe('setDefaultProducts', () => {
  it('serves what has no products of its own, and gives way where it cannot', () => {
    const [standard, own, unable] = [noting('standard'), noting('own'), noting('unable', ['never'])];
    const [x, w] = [tf.ones([1, 2, 3]), tf.ones([3, 4])];
    setDefaultProducts(standard.products);
    project(x, w);
    project(x, w, undefined, { products: own.products });
    project(x, w, undefined, { products: unable.products });
    expect([standard, own, unable].map(({ calls }) => calls.length)).toEqual([1, 1, 0]);
    setDefaultProducts(undefined);
    project(x, w);
    expect(standard.calls.length).toBe(1);
    expect(standard.calls[0]).toMatchObject({ transposed: false, sizes: { rows: 2, inDim: 3, outDim: 4 } });
  });

  it('refuses what is no product kernel', () => {
    for (const wrong of [5, {}, { ...tfjsProducts(), run: undefined }])
      expect(() => setDefaultProducts(wrong as never)).toThrow(/products must be a ProductKernel/);
  });
});
