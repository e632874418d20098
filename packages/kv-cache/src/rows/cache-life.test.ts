// What may be done with a cache when.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { ConfigError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { append, kinds, marks, rows } from '../fixtures/marked-rows';

describe.each(kinds)('%s', (_, create) => {
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
    const newRows = rows(2);
    const before = memoryNow();
    const cache = create();
    append(cache, newRows);
    cache.dispose();
    cache.dispose();
    expectSameMemory(before);
    expect(cache.byteSize).toBe(0);
    const uses = [
      () => cache.stage(newRows),
      () => cache.read(),
      () => cache.crop([0, 0]),
      () => cache.reset(),
      () => cache.seal(),
    ];
    for (const use of uses) expect(use).toThrow(/the cache must not be disposed/);
  });

  it('serves the layer that writes first, until it is reset', () => {
    const cache = create();
    const [first, other, namesake] = [
      { name: 'block0/attention' },
      { name: 'block1/attention' },
      { name: 'block0/attention' },
    ];
    const read = cache.stage({ ...rows(1), layer: other }).stored; // never kept: it binds nothing
    append(cache, { ...rows(1), layer: first });
    append(cache, { ...rows(1), layer: first });
    append(cache, rows(1)); // without a layer nothing can be told
    const refused = () => cache.stage({ ...rows(1), layer: other });
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(/rows are of +block0\/attention\n +called by +block1\/attention/);
    expect(() => cache.stage({ ...rows(1), layer: namesake })).toThrow(/another layer, also named block0/);
    expect(cache.lengths).toEqual([3, 3]);
    expect(() => read.parts).toThrow(/has changed/);
    cache.reset();
    append(cache, { ...rows(1), layer: other });
    expect(() => cache.stage({ ...rows(1), layer: first })).toThrow(/a cache serves one layer/);
    cache.dispose();
  });

  it('keeps rows inside the tidy that staged them only, whichever else is open', () => {
    const cache = create();
    const before = memoryNow();
    let commit = () => {};
    tf.tidy(() => {
      commit = cache.stage(rows(1)).commit;
    });
    expect(commit).toThrow(ConfigError);
    expect(commit).toThrow(/committed inside the tidy that staged them/);
    tf.tidy(() => {
      expect(commit).toThrow(/inside the tidy/);
    });
    expect(cache.lengths).toEqual([0, 0]);
    expectSameMemory(before);
    tf.tidy(() => {
      const staged = cache.stage(rows(1, 3));
      tf.tidy(() => staged.commit());
    });
    expect(marks(cache.read())[0]).toEqual([3]);
    cache.dispose();
  });
});
