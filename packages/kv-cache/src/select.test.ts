// Batch entries that go on with the tokens of others, as the beams of a search do.
import { expectClose, expectSameMemory, memoryNow, readAll, samplePositions } from '@polyhead/conformance';
import { causal, isAttentionError } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, QuantizedCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const [B, E] = [3, 12];
const config = { embedDim: E, numHeads: 4, numKeyValueHeads: 2, headDim: 5, seed: 3 };
const layer = () => new GroupedQueryAttention(config, { position: samplePositions(4) });
const tokens = (seed: number, S: number) => tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', seed);
const mask = causal();
const from = [2, 0, 2];

const creators: Record<string, (attention: GroupedQueryAttention) => RowCache> = {
  GrowingCache: (attention) => new GrowingCache(attention.cacheShape(B)),
  StaticCache: (attention) => new StaticCache(attention.cacheShape(B), { capacity: 8 }),
  RingCache: (attention) => new RingCache(attention.cacheShape(B), { window: 6, sinks: 1 }),
  QuantizedCache: (attention) => new QuantizedCache(attention.cacheShape(B), { values: 'int4' }),
  'QuantizedCache by channel': (attention) =>
    new QuantizedCache(attention.cacheShape(B), { keys: 'int4-channel', residual: 2 }),
  ...(hasPages && { PagedCache: (attention: GroupedQueryAttention) => ownPool(attention.cacheShape(B), 2) }),
};

describe.each(Object.entries(creators))('%s', (_, create) => {
  it('goes on as if each entry had had the tokens of that other one, unequal lengths included', async () => {
    const attention = layer();
    const [cache, other] = [create(attention), create(attention)];
    const [prompt, next] = [tokens(1, 5), tokens(2, 1)];
    const lengths = [5, 2, 3];
    attention.apply({ query: prompt }, { mask, cache, lengths });
    cache.select(from);
    expect(cache.lengths).toEqual([3, 5, 3]);
    expect(cache.nextPosition).toEqual([3, 5, 3]);
    const arranged = tf.gather(prompt, tf.tensor1d(from, 'int32'));
    attention.apply(
      { query: arranged },
      { mask, cache: other, lengths: from.map((entry) => lengths[entry]!) },
    );
    for (const step of [next, tf.neg(next)] as tf.Tensor3D[]) {
      expectClose({
        actual: await readAll({ output: attention.apply({ query: step }, { mask, cache }).output }),
        expected: await readAll({ output: attention.apply({ query: step }, { mask, cache: other }).output }),
      });
    }
    for (const held of [cache, other, attention]) held.dispose();
  });

  it('serves on where it is sealed, and leaves no tensor behind', () => {
    const attention = layer();
    const cache = create(attention);
    tf.tidy(() => attention.apply({ query: tokens(3, 6) }, { mask, cache }).output);
    cache.seal();
    const before = memoryNow();
    cache.select(from);
    cache.select([0, 1, 2]);
    expectSameMemory(before);
    expect(cache.sealed).toBe(true);
    cache.dispose();
    attention.dispose();
  });

  it.each([[[0, 1]], [[0, 1, 3]], [[0, 1, -1]], [[0, 1, 0.5]], [undefined], [Array(3)]])(
    'refuses %j, and changes nothing',
    (entries) => {
      const attention = layer();
      const cache = create(attention);
      tf.tidy(() => attention.apply({ query: tokens(5, 2) }, { mask, cache, lengths: [2, 1, 0] }).output);
      expect(() => cache.select(entries as number[])).toThrow(expect.toSatisfy(isAttentionError));
      expect(() => cache.select(entries as number[])).toThrow(/\.select: entries must/);
      expect(cache.lengths).toEqual([2, 1, 0]);
      cache.dispose();
      attention.dispose();
    },
  );
});
