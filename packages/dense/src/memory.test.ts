// Memory that ends leaves everything as it was, and many products leave nothing: 20,000 by hand.
import { expectSameMemory, heapBytes, memoryNow } from '@polyhead/conformance';
import { QuantizedWeights } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, expect, it, vi } from 'vitest';
import { denseProducts } from './index';

interface Heap {
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/** Runs `f` with ever more allocations that succeed, until all do. @returns how many there are */
function endingEverywhere(f: () => void): number {
  const { wasm } = tf.backend() as unknown as { wasm: Heap };
  const [allocate, free] = [wasm._malloc.bind(wasm), wasm._free.bind(wasm)];
  const before = memoryNow();
  for (let allowed = 0; ; allowed++) {
    const held = new Set<number>();
    let left = allowed;
    vi.spyOn(wasm, '_malloc').mockImplementation((bytes) => {
      if (left-- === 0) throw new Error('memory has ended');
      const address = allocate(bytes);
      held.add(address);
      return address;
    });
    vi.spyOn(wasm, '_free').mockImplementation((address) => {
      held.delete(address);
      free(address);
    });
    let hasEnded = false;
    try {
      f();
    } catch (error) {
      expect((error as Error).message).toBe('memory has ended');
      hasEnded = true;
    } finally {
      vi.restoreAllMocks();
    }
    expect(held.size).toBe(0);
    expectSameMemory(before);
    if (!hasEnded) return allowed;
  }
}

beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'it computes on wasm only'));

it('leaves no part of a product, or of its gradients', () => {
  const options = { products: denseProducts() };
  const x = tf.ones<tf.Rank.R3>([1, 9, 64]);
  const floats = tf.ones<tf.Rank.R2>([64, 8]);
  const blocks = QuantizedWeights.fromFloats(tf.ones([8, 64]));
  const one = tf.slice(x, [0, 0, 0], [1, 1, 64]);
  for (const weights of [floats, blocks]) {
    project(x, weights, undefined, options).dispose(); // what is kept for all products
    expect(endingEverywhere(() => project(x, weights, undefined, options).dispose())).toBe(2);
  }
  expect(endingEverywhere(() => project(one, floats, undefined, options).dispose())).toBe(1);
  expect(endingEverywhere(() => project(one, blocks, undefined, options).dispose())).toBe(2);
  const sizes = { rows: 9, inDim: 64, outDim: 8 };
  const gradient = tf.ones<tf.Rank.R3>([1, 9, 8]);
  const gradients = () =>
    tf.tidy(
      () => void options.products.gradients({ x, weights: floats, transposed: false, sizes }, gradient),
    );
  expect(endingEverywhere(gradients)).toBe(4); // of x and of the weights, each with a workspace
  blocks.dispose();
});

const steps = process.env.POLYHEAD_LONG ? 20_000 : 500;

it(`leaves no tensor, no byte and no heap after ${steps} steps`, { timeout: 600_000 }, () => {
  const options = { products: denseProducts() };
  const weights = [tf.ones<tf.Rank.R2>([64, 40]), QuantizedWeights.fromFloats(tf.ones([40, 64]))];
  const bias = tf.ones<tf.Rank.R1>([40]);
  const rows = [1, 3, 17].map((R) => tf.ones<tf.Rank.R3>([1, R, 64])); // a token, a few, a prompt
  const step = (n: number) => {
    const x = rows[n % 3]!;
    const own = weights[n % 2]!;
    const sum = (y: tf.Tensor) => tf.sum(project(y as tf.Tensor3D, own, bias, options));
    if (n % 5 === 0) tf.grad(sum)(x).dispose();
    else project(x, own, bias, options).dispose();
  };
  for (let n = 0; n < 30; n++) step(n); // each of them
  const [memory, heap] = [memoryNow(), heapBytes()];
  for (let n = 0; n < steps; n++) step(n);
  expectSameMemory(memory);
  expect(heapBytes()).toBe(heap);
});
