import { numbersOf } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { append, kinds, marks, rows, shape } from '../fixtures/marked-rows';
import { GrowingCache, StaticCache } from '../index';
import type { RowCache } from '../row-cache';

describe.each(kinds)('%s', (_, create) => {
  it('starts empty', () => {
    const cache = create();
    expect(cache).toMatchObject({ lengths: [0, 0], nextOrder: [0, 0], nextPosition: [0, 0], sealed: false });
    const { key, value } = cache.read().materialize();
    expect([key.shape, value.shape]).toEqual([
      [2, 3, 0, 5],
      [2, 3, 0, 4],
    ]);
    cache.dispose();
  });

  it('shows old and new rows beside each other before anything is kept', () => {
    const cache = create();
    append(cache, rows(2, 1));
    const { stored } = cache.stage(rows(1, 2));
    expect(stored).toMatchObject({ lengths: [3, 3], heads: 3, keySize: 5, valueSize: 4 });
    expect(marks(stored)).toEqual([
      [1, 1, 2],
      [1, 1, 2],
    ]);
    expect(cache.lengths).toEqual([2, 2]);
    expect(cache.nextPosition).toEqual([2, 2]);
    cache.dispose();
  });

  it('keeps what is committed, beyond the tidy', () => {
    const cache = create();
    append(cache, rows(2, 1));
    append(cache, rows(1, 2));
    expect(cache.lengths).toEqual([3, 3]);
    expect(marks(cache.read())).toEqual([
      [1, 1, 2],
      [1, 1, 2],
    ]);
    cache.dispose();
  });

  it('tells where rows lie: heads a stride apart, tokens in runs', () => {
    const cache = create();
    append(cache, { ...rows(2), lengths: [2, 0] });
    const [part] = cache.read().parts;
    const { key, value, headStride, runs } = part!;
    expect([key.first, key.size, value.first, value.size]).toEqual([0, 5, 0, 4]);
    expect(runs(1)).toHaveLength(0);
    const [first, count] = runs(0);
    expect(count).toBe(2);
    const numbers = key.data.dataSync();
    for (let h = 0; h < 3; h++) {
      const row = first! + h * headStride;
      expect([...numbers.subarray(row * 5, (row + 2) * 5)]).toEqual(Array(10).fill(1));
    }
    cache.dispose();
  });

  it('pads entries shorter than the longest with zeros', () => {
    const cache = create();
    append(cache, { ...rows(3, 7), lengths: [1, 3] });
    expect(cache.lengths).toEqual([1, 3]);
    const { key } = cache.read().materialize();
    expect(key.shape).toEqual([2, 3, 3, 5]);
    expect(numbersOf(tf.max(key, [1, 3]))).toEqual([7, 0, 0, 7, 7, 7]);
    cache.dispose();
  });

  it('never gives its own tensors away', () => {
    const cache = create();
    append(cache, rows(2, 1));
    const before = cache.read().materialize();
    cache.crop([0, 0]);
    append(cache, rows(2, 9));
    expect(numbersOf(tf.max(before.key))).toEqual([1]);
    tf.dispose(before);
    expect(marks(cache.read())[0]).toEqual([9, 9]);
    cache.dispose();
  });

  it('does not hold on to the rows it was given', () => {
    const cache = create();
    const newRows = rows(2, 3);
    append(cache, newRows);
    tf.dispose(newRows);
    expect(marks(cache.read())[1]).toEqual([3, 3]);
    cache.dispose();
  });

  it('counts positions on from the last row, whatever the order', () => {
    const cache = create();
    append(cache, { ...rows(3), positions: { start: [-2, 0] } });
    expect(cache.nextOrder).toEqual([3, 3]);
    expect(cache.nextPosition).toEqual([1, 3]);
    append(cache, rows(1));
    expect(cache.read().positions).toEqual({ start: [-2, 0] });
    append(cache, { ...rows(2), positions: { each: Int32Array.of(7, 9, 4, 5) }, lengths: [2, 1] });
    expect(cache.nextPosition).toEqual([10, 5]);
    expect(cache.read().positions).toEqual({ each: Int32Array.of(-2, -1, 0, 1, 7, 9, 0, 1, 2, 3, 4, 5) });
    expect(cache.read().order).toEqual({ start: [0] });
    cache.crop([5, 0]);
    expect(cache.nextPosition).toEqual([8, 0]);
    cache.dispose();
  });

  it('forgets the tokens it is cropped of', () => {
    const cache = create();
    append(cache, rows(3, 1));
    append(cache, rows(2, 2));
    cache.crop([1, 4]);
    expect(marks(cache.read())).toEqual([[1], [1, 1, 1, 2]]);
    append(cache, rows(1, 3));
    expect(marks(cache.read())).toEqual([
      [1, 3],
      [1, 1, 1, 2, 3],
    ]);
    cache.dispose();
  });

  it('refuses to crop to what there is not, and changes nothing', () => {
    const cache = create();
    append(cache, rows(3));
    expect(() => cache.crop([4, 0])).toThrow(/crop: lengths must not go beyond the tokens there are/);
    expect(() => cache.crop([-1, 0])).toThrow(/lengths must be whole numbers of at least 0/);
    expect(() => cache.crop([0])).toThrow(/one number for each batch entry/);
    expect(cache.lengths).toEqual([3, 3]);
    cache.dispose();
  });

  it('shows no list of its own that could be changed', () => {
    const cache = create();
    append(cache, { ...rows(2), positions: { each: Int32Array.of(0, 5) } });
    const stored = cache.read();
    const change = (list: readonly number[] | Int32Array) => {
      (list as number[])[0] = 99;
    };
    for (const list of [cache.lengths, stored.lengths]) expect(() => change(list)).toThrow(TypeError);
    for (const list of [cache.nextOrder, cache.nextPosition, stored.parts[0]!.runs(0)]) change(list);
    change((stored.positions as { each: Int32Array }).each);
    expect(() => Object.assign(cache.shape, { heads: 9 })).toThrow(TypeError);
    expect(cache).toMatchObject({ lengths: [2, 2], nextOrder: [2, 2], nextPosition: [6, 6] });
    expect(cache.read().positions).toEqual({ each: Int32Array.of(0, 5, 0, 5) });
    expect(marks(cache.read())).toEqual([
      [1, 1],
      [1, 1],
    ]);
    cache.dispose();
  });

  it('copies the lists that it is given', () => {
    const cache = create();
    const [lengths, start] = [
      [2, 1],
      [4, 7],
    ];
    append(cache, { ...rows(2), lengths, positions: { start } });
    lengths[0] = start[0] = 99;
    expect(cache).toMatchObject({ lengths: [2, 1], nextPosition: [6, 8] });
    cache.dispose();
  });

  it('is made again from its JSON', () => {
    const cache = create();
    const Kind = cache.constructor as unknown as { kind: string; parameters: readonly string[] } & (new (
      ...parts: unknown[]
    ) => RowCache);
    const json = JSON.parse(JSON.stringify(cache));
    expect(json).toMatchObject({ kind: Kind.kind, shape });
    expect(Object.keys(json)).toEqual(['kind', ...Kind.parameters]);
    const again = new Kind(...Kind.parameters.map((name) => json[name]));
    expect(again.toJSON()).toEqual(json);
    expect(again.byteSize).toBe(cache.byteSize);
    cache.dispose();
    again.dispose();
  });

  it('takes values that are columns of the keys where the value size is 0', () => {
    const latent = create({ ...shape, valueSize: 0 });
    const numbers = tf.randomNormal<tf.Rank.R4>([2, 3, 3, 5], 0, 1, 'float32', 1);
    const [key, more] = tf.split(numbers, [2, 1], 2) as [tf.Tensor4D, tf.Tensor4D];
    const firstTwo = (x: tf.Tensor4D) => tf.slice(x, [0, 0, 0, 0], [-1, -1, -1, 2]);
    expect(() => append(latent, { key, value: tf.zeros([2, 3, 2, 6]) })).toThrow(
      /values must be columns of the keys/,
    );
    append(latent, { key, value: tf.zeros([2, 3, 2, 2]) }); // their size is all that is read
    append(latent, { key: more, value: tf.zeros([2, 3, 1, 2]) });
    expect(() => append(latent, { key: more, value: tf.zeros([2, 3, 1, 3]) })).toThrow(
      /value must fit the cache/,
    );
    const stored = latent.read();
    expect(stored).toMatchObject({ keySize: 5, valueSize: 2 });
    const [part] = stored.parts;
    expect(part!.value).toEqual({ data: part!.key.data, first: 0, size: 2 });
    const { key: keys, value: values } = stored.materialize();
    expect(numbersOf(keys)).toEqual(numbersOf(numbers));
    expect(numbersOf(values)).toEqual(numbersOf(firstTwo(numbers)));
    expect(latent.byteSize % (3 * 5 * 4)).toBe(0); // keys only
    latent.crop([1, 0]);
    expect(numbersOf(tf.slice(latent.read().materialize().value, 0, 1))).toEqual(
      numbersOf(tf.slice(firstTwo(numbers), 0, [1, 3, 1, 2])),
    );
    latent.dispose();
  });

  it('refuses sizes that cannot be', () => {
    expect(() => new GrowingCache({ ...shape, heads: 0 })).toThrow(/heads must be a whole number above 0/);
    expect(() => new StaticCache(shape, { capacity: 0 })).toThrow(/capacity must be a whole number above 0/);
    expect(() => create({ ...shape, valueSize: -1 })).toThrow(/valueSize must be a whole number/);
    for (const batch of [2 ** 20 + 1, 2 ** 30, 2 ** 33]) {
      expect(() => create({ ...shape, batch })).toThrow(
        /batch must be (at most 1048576|a whole number above 0 and below)/,
      );
    }
  });
});
