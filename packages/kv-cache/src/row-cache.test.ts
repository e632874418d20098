import { expectSameMemory, memoryNow, numbersOf } from '@polyhead/conformance';
import type { StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GrowingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const shape = { batch: 2, heads: 3, keySize: 5, valueSize: 4 };
const kinds: [string, () => RowCache][] = [
  ['GrowingCache', () => new GrowingCache(shape)],
  ['StaticCache', () => new StaticCache(shape, { capacity: 8 })],
];

/** S tokens whose every number is `mark`. */
const rows = (S: number, mark = 1) => ({
  key: tf.fill<tf.Rank.R4>([2, 3, S, 5], mark),
  value: tf.fill<tf.Rank.R4>([2, 3, S, 4], -mark),
});

function append(cache: RowCache, given: Parameters<RowCache['stage']>[0]): void {
  tf.tidy(() => cache.stage(given).commit());
}

/** The first number of each token of head 1: [B][S]. */
function marks(stored: StoredKeyValue): number[][] {
  const { key } = tf.tidy(() => stored.materialize());
  return stored.lengths.map((length, b) => {
    const head = numbersOf(tf.slice(key, [b, 1, 0, 0], [1, 1, length, 1]));
    return [...head];
  });
}

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
    const given = rows(2, 3);
    append(cache, given);
    tf.dispose(given);
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

  it('makes earlier stages throw once it has changed or staged again', () => {
    const cache = create();
    const changes: (() => void)[] = [
      () => cache.stage(rows(1)),
      () => cache.crop([0, 0]),
      () => cache.reset(),
      () => append(cache, rows(1)),
      () => cache.seal(),
    ];
    for (const change of changes) {
      const { stored, commit } = cache.stage(rows(1));
      change();
      expect(commit).toThrow(/the cache has changed since: stage again/);
      expect(() => stored.materialize()).toThrow(/has changed since/);
      expect(() => stored.parts).toThrow(/has changed since/);
    }
    expect(cache.lengths).toEqual([1, 1]);
    cache.dispose();
  });

  it('commits once', () => {
    const cache = create();
    const { commit } = cache.stage(rows(2));
    commit();
    expect(commit).toThrow(/has changed since/);
    expect(cache.lengths).toEqual([2, 2]);
    cache.dispose();
  });

  it('keeps a stage valid while it is only read', () => {
    const cache = create();
    append(cache, rows(1, 1));
    const { commit } = cache.stage(rows(1, 2));
    expect(marks(cache.read())).toEqual([[1], [1]]);
    commit();
    expect(cache.lengths).toEqual([2, 2]);
    cache.dispose();
  });

  it('takes no rows once sealed, until it is reset', () => {
    const cache = create();
    expect(() => cache.seal()).toThrow(/there must be rows/);
    append(cache, rows(2));
    cache.seal();
    cache.seal();
    expect(cache.sealed).toBe(true);
    expect(() => cache.stage(rows(1))).toThrow(/stage: the cache is sealed/);
    expect(() => cache.crop([1, 1])).toThrow(/crop: the cache is sealed/);
    expect(marks(cache.read())[0]).toHaveLength(2);
    cache.reset();
    expect(cache).toMatchObject({ sealed: false, lengths: [0, 0] });
    cache.dispose();
  });

  it('refuses a gradient', () => {
    const cache = create();
    append(cache, rows(1));
    const loss = (x: tf.Tensor, use: () => unknown) => {
      use();
      return tf.sum(x) as tf.Scalar;
    };
    const x = tf.ones([1]);
    for (const use of [() => cache.stage(rows(1)), () => cache.read()])
      expect(() => tf.grad((y) => loss(y, use))(x)).toThrow(/a cache cannot stand in a gradient/);
    cache.dispose();
  });

  it('changes nothing where rows do not fit', () => {
    const cache = create();
    append(cache, rows(2));
    const { commit } = cache.stage(rows(1));
    expect(() => cache.stage({ ...rows(3), lengths: [3, 4] })).toThrow(/stage: lengths must not go beyond/);
    commit();
    expect(cache).toMatchObject({ lengths: [3, 3], nextPosition: [3, 3] });
    cache.dispose();
  });

  it('frees all it holds, once; used later it throws', () => {
    const given = rows(2);
    const before = memoryNow();
    const cache = create();
    append(cache, given);
    cache.dispose();
    cache.dispose();
    expectSameMemory(before);
    expect(cache.byteSize).toBe(0);
    const uses = [
      () => cache.stage(given),
      () => cache.read(),
      () => cache.crop([0, 0]),
      () => cache.reset(),
      () => cache.seal(),
    ];
    for (const use of uses) expect(use).toThrow(/the cache must not be disposed/);
  });

  it('refuses sizes that cannot be', () => {
    expect(() => new GrowingCache({ ...shape, heads: 0 })).toThrow(/heads must be a whole number above 0/);
    expect(() => new StaticCache(shape, { capacity: 0 })).toThrow(/capacity must be a whole number above 0/);
  });
});

describe('GrowingCache', () => {
  it('refuses to keep rows whose tidy has ended', () => {
    const cache = new GrowingCache(shape);
    let commit = () => {};
    tf.tidy(() => {
      commit = cache.stage(rows(1)).commit;
    });
    expect(commit).toThrow(/committed inside the tidy that staged them/);
    expect(cache.lengths).toEqual([0, 0]);
  });
});
