import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { attend } from '../kernel/attend';
import { causal } from '../masks/causal';
import { sliceBox } from './slice-box';
import { emptyOnHeap, floatsOnHeap, guardAllocations, hasWasmHeap } from './wasm-heap';

const onWasm = (name: string, run: () => void | Promise<void>) =>
  it(name, ({ skip }) => {
    skip(process.env.POLYHEAD_BACKEND !== 'wasm', 'only wasm has such a heap');
    return run();
  });

describe('take', () => {
  it('cuts a box, and leaves axes of size 1', () => {
    const x = tf.reshape(tf.range(0, 2 * 3 * 5 * 4), [2, 3, 5, 4]) as tf.Tensor4D;
    const box = [
      [1, 2],
      [0, 2],
      [2, 5],
      [1, 3],
    ] as const;
    expect(sliceBox(x, box).dataSync()).toEqual(tf.slice(x, [1, 0, 2, 1], [1, 2, 3, 2]).dataSync());
    const whole = [
      [0, 2],
      [1, 3],
      [1, 2],
      [0, 4],
    ] as const;
    expect(sliceBox(x, whole).dataSync()).toEqual(tf.slice(x, [0, 1, 1, 0], [2, 2, 1, 4]).dataSync());
    const broadcast = tf.reshape(tf.range(0, 5), [1, 1, 5, 1]) as tf.Tensor4D;
    expect(sliceBox(broadcast, box).shape).toEqual([1, 1, 3, 1]);
    expect(
      sliceBox(x, [
        [0, 2],
        [0, 3],
        [0, 5],
        [0, 4],
      ]),
    ).toBe(x);
  });
});

describe('the heap of wasm', () => {
  onWasm('is read and written in place', () => {
    const tensor = emptyOnHeap<tf.Rank.R2>([2, 2]);
    floatsOnHeap(tensor).set([1, 2, 3, 4]);
    expect(tensor.arraySync()).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  onWasm('takes tensors of another backend, which are moved when they are used', async () => {
    await tf.setBackend('cpu');
    const x = tf.randomNormal([1, 1, 300, 8], 0, 1, 'float32', 1) as tf.Tensor4D;
    const expected = attend(composed(), { query: x, key: x, value: x }, { mask: causal() }).output.dataSync();
    const elsewhere = tf.clone(x);
    await tf.setBackend('wasm');
    const inputs = { query: elsewhere, key: elsewhere, value: elsewhere };
    const actual = attend(composed(), inputs, { mask: causal() }).output.dataSync();
    actual.forEach((number, i) => {
      expect(number).toBeCloseTo(expected[i]!, 5);
    });
  });

  it('throws when it is exhausted, and frees nothing of others', () => {
    const allocate = (bytes: number) => (bytes > 48 ? 0 : 16);
    const heap = {
      HEAPU8: new Uint8Array(64),
      // As the module of the backend does: the first call puts another function in its place.
      _malloc(bytes: number): number {
        heap._malloc = allocate;
        return allocate(bytes);
      },
      _free: () => {},
    };
    guardAllocations(heap);
    guardAllocations(heap); // once is enough
    expect(heap._malloc(48)).toBe(16);
    for (const bytes of [49, 50])
      expect(() => heap._malloc(bytes)).toThrow(/exhausted[\s\S]*bytes requested +\d+[\s\S]*heap bytes +64/);
  });

  it('throws where a block would end beyond the heap, and frees nothing of it', () => {
    const freed: number[] = [];
    const heap = {
      HEAPU8: new Uint8Array(64),
      _malloc: (_bytes: number) => 48,
      _free: (at: number) => freed.push(at),
    };
    guardAllocations(heap);
    expect(heap._malloc(16)).toBe(48);
    const before = freed.length;
    expect(() => heap._malloc(17)).toThrow(/exhausted[\s\S]*bytes requested +17[\s\S]*heap bytes +64/);
    expect(freed.length).toBe(before);
  });

  onWasm('throws for more bytes than a number of 32 bits can tell, and does not move', () => {
    expect(hasWasmHeap()).toBe(true);
    const { wasm } = tf.backend() as unknown as {
      wasm: { HEAPU8: Uint8Array; _malloc(bytes: number): number };
    };
    const { length } = wasm.HEAPU8;
    for (const bytes of [2 ** 31, 2 ** 32 - 16384, 2 ** 32 + 64])
      expect(() => wasm._malloc(bytes)).toThrow(/the heap of the wasm backend is exhausted/);
    expect(wasm.HEAPU8.length).toBe(length);
  });

  onWasm('is guarded from the first call on: a failed call leaves everything as it was', () => {
    expect(hasWasmHeap()).toBe(true);
    const x = tf.ones([1, 1, 64, 64]) as tf.Tensor4D;
    const inputs = { query: x, key: x, value: x };
    const { wasm } = tf.backend() as unknown as { wasm: { _malloc(bytes: number): number } };
    const allocate = wasm._malloc;
    const before = tf.memory();
    for (let allowed = 0; allowed < 5; allowed++) {
      let left = allowed;
      wasm._malloc = (bytes) => {
        if (left-- === 0) throw new Error('no more');
        return allocate(bytes);
      };
      try {
        expect(() => attend(composed(), inputs)).toThrow(/no more/);
      } finally {
        wasm._malloc = allocate;
      }
      expect(tf.memory().numTensors).toBe(before.numTensors);
      expect(tf.memory().numBytes).toBe(before.numBytes);
    }
    expect(attend(composed(), inputs).output.dataSync()[0]).toBe(1);
  });
});
