// What several threads multiply is what one multiplies, to the bit.
import {
  expectFlatHeap,
  expectSameMemory,
  leaveToHelpers,
  memoryNow,
  seededRandom,
  useSharedHeap,
} from '@polyhead/conformance';
import { type ProductCall, type ProductKernel, type ProductWeights, QuantizedWeights } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { denseProducts } from './index';

const made: { dispose?(): void }[] = [];

async function threaded(threads: number | undefined): Promise<ProductKernel> {
  const kernel = denseProducts({ threads });
  made.push(kernel);
  await kernel.prepare!();
  return kernel;
}

function tensor<R extends tf.Rank>(shape: tf.ShapeMap[R], seed: number): tf.Tensor<R> {
  const numbers = new Float32Array(tf.util.sizeFromShape(shape));
  const random = seededRandom(seed);
  for (let n = 0; n < numbers.length; n++) numbers[n] = random() - 0.5;
  return tf.tensor<R>(numbers, shape);
}

function weightsOf(format: string, inDim: number, outDim: number): ProductWeights {
  if (format === 'floats') return tensor<tf.Rank.R2>([inDim, outDim], 2);
  if (format === 'table') return tensor<tf.Rank.R2>([outDim, inDim], 2);
  if (format === 'int8') {
    const table = tensor<tf.Rank.R2>([outDim, inDim], 2);
    const weights = QuantizedWeights.fromFloats(table);
    table.dispose();
    return weights;
  }
  const blockBytes = 20;
  const bytes = Uint8Array.from({ length: ((outDim * inDim) / 32) * blockBytes }, (_, n) =>
    n % blockBytes === 1 || n % blockBytes === 3 ? 0x24 : (n * 37) & 0xff,
  );
  return QuantizedWeights.fromBlocks('Q4_1', [outDim, inDim], bytes);
}

interface Case {
  readonly sizes: readonly [rows: number, inDim: number, outDim: number];
  readonly weights: 'floats' | 'table' | 'int8' | 'Q4_1';
  readonly bias?: boolean;
}

function callOf({ sizes: [rows, inDim, outDim], weights, bias = false }: Case): ProductCall {
  const call = {
    x: tensor<tf.Rank.R3>([1, rows, inDim], 1),
    weights: weightsOf(weights, inDim, outDim),
    transposed: weights !== 'floats',
    sizes: { rows, inDim, outDim },
    bias: bias ? tensor<tf.Rank.R1>([outDim], 3) : undefined,
  };
  made.push(call.x, call.weights, call.bias ?? {});
  return call;
}

function numbersOf(kernel: ProductKernel, call: ProductCall): Float32Array {
  const product = kernel.run(call);
  const numbers = product.dataSync<'float32'>().slice();
  product.dispose();
  return numbers;
}

function gradientsOf(kernel: ProductKernel, call: ProductCall): Float32Array[] {
  const { rows, outDim } = call.sizes;
  return tf.tidy(() => {
    const gradients = kernel.gradients(call, tensor<tf.Rank.R3>([1, rows, outDim], 4));
    return Object.values(gradients).map((of: tf.Tensor) => of.dataSync<'float32'>().slice());
  });
}

/** A list of all numbers is of no help. */
function expectSame(actual: Float32Array, expected: Float32Array): void {
  const first = expected.findIndex((x, n) => !Object.is(x, actual[n]));
  expect([actual.length, first]).toEqual([expected.length, -1]);
}

const many: readonly Case[] = [
  { sizes: [523, 200, 300], weights: 'floats', bias: true }, // rows are cut
  { sizes: [411, 600, 301], weights: 'table' },
  { sizes: [97, 520, 900], weights: 'floats', bias: true }, // columns are cut
  { sizes: [60, 520, 1003], weights: 'table', bias: true },
  { sizes: [600, 160, 400], weights: 'int8' },
  { sizes: [64, 544, 777], weights: 'Q4_1', bias: true },
];

/** Worth threads only where nothing is copied. */
const few: readonly Case[] = [
  { sizes: [1, 2003, 3003], weights: 'floats', bias: true },
  { sizes: [7, 501, 1803], weights: 'floats' },
  { sizes: [2, 1003, 3001], weights: 'table', bias: true },
  { sizes: [3, 1056, 2001], weights: 'int8' },
  { sizes: [1, 2016, 3003], weights: 'Q4_1', bias: true },
];

afterEach(() => {
  vi.restoreAllMocks();
  for (const each of made.splice(0)) each.dispose?.();
});

describe('several threads', () => {
  beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'it computes on wasm only'));

  it.each(many)('give the numbers of one, to the bit: %o', async (row) => {
    const call = callOf(row);
    const expected = numbersOf(denseProducts(), call);
    for (const threads of [2, 3, 4]) {
      const kernel = await threaded(threads);
      expect(kernel.notes!(call).join()).toMatch(`SIMD, ${threads} threads`);
      expectSame(numbersOf(kernel, call), expected);
      const units = leaveToHelpers();
      expectSame(numbersOf(kernel, call), expected);
      expect(units()).toBeGreaterThanOrEqual(threads);
      vi.restoreAllMocks();
    }
  });

  it.each([many[0]!, many[3]!, many[4]!])('give the same gradients: %o', async (row) => {
    const call = callOf(row);
    const expected = gradientsOf(denseProducts(), call);
    const actual = gradientsOf(await threaded(3), call);
    expect(actual).toHaveLength(expected.length);
    for (const [n, numbers] of actual.entries()) expectSame(numbers, expected[n]!);
  });

  it("work in place where tfjs's own memory is shared, few rows too", async () => {
    const restore = useSharedHeap();
    try {
      const kernel = await threaded(4);
      for (const row of [...few, many[0]!]) {
        const call = callOf(row);
        const expected = numbersOf(denseProducts(), call);
        expect(kernel.notes!(call).join()).toMatch('4 threads');
        leaveToHelpers();
        expectSame(numbersOf(kernel, call), expected);
        vi.restoreAllMocks();
      }
    } finally {
      for (const each of made.splice(0)) each.dispose?.();
      restore();
    }
  });

  it('leave small products to one, and those whose weights would have to be copied', async () => {
    const kernel = await threaded(2);
    const small: Case = { sizes: [16, 64, 64], weights: 'floats' };
    for (const row of [small, few[0]!]) {
      const call = callOf(row);
      expect(kernel.notes!(call).join()).toMatch(/one thread: more would gain nothing here/);
      expectSame(numbersOf(kernel, call), numbersOf(denseProducts(), call));
    }
  });

  it('are as many as those of TensorFlow.js unless said: one in Node', async () => {
    const kernel = await threaded(undefined);
    expect(kernel.notes!(callOf(many[0]!)).join()).toMatch(/SIMD, one thread$/);
  });

  it('start in prepare and end in dispose', async () => {
    const call = callOf(many[0]!);
    const kernel = denseProducts({ threads: 2 });
    const expected = numbersOf(denseProducts(), call);
    expect(kernel.notes!(call).join()).toMatch(/one thread: prepare\(\) has not been awaited/);
    expectSame(numbersOf(kernel, call), expected);
    await kernel.prepare!();
    expect(kernel.notes!(call).join()).toMatch(/2 threads$/);
    kernel.dispose!();
    expect(kernel.notes!(call).join()).toMatch(/one thread: the products are disposed/);
    expectSame(numbersOf(kernel, call), expected);
  });

  it('are given up when their memory cannot grow, and leave nothing', async () => {
    const call = callOf(many[0]!);
    const kernel = await threaded(2);
    const before = memoryNow();
    const expected = numbersOf(denseProducts(), call);
    vi.spyOn(WebAssembly.Memory.prototype, 'grow').mockImplementation(() => {
      throw new RangeError('out of memory');
    });
    expectSame(numbersOf(kernel, call), expected);
    expect(kernel.notes!(call).join()).toMatch(/one thread: the memory that threads share cannot grow/);
    expectSameMemory(before);
  });

  it('leave the heap, and the memory that they share, as they were', async () => {
    const call = callOf(many[0]!);
    const kernel = await threaded(2);
    kernel.run(call).dispose();
    const before = memoryNow();
    const grow = vi.spyOn(WebAssembly.Memory.prototype, 'grow');
    expectFlatHeap(() => void kernel.run(call), 30);
    expect(grow).not.toHaveBeenCalled();
    expectSameMemory(before);
  });

  it.each([0, 1.5, 257, '2'])('are a whole number, not %s', (threads) => {
    expect(() => denseProducts({ threads: threads as number })).toThrow(
      /denseProducts: threads must be a whole number from 1 to 256/,
    );
  });
});
