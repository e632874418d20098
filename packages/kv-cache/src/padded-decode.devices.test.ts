// Batches of sequences of unequal lengths: each gives what it gives alone. Padding is NaN throughout.
import { expectClose, readAll, sampled, samplePositions } from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  causal,
  type LayerCall,
  leftPadding,
  type Mask,
  slidingWindow,
  type TokenPositions,
} from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, RingCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const [B, E] = [3, 12];
const config = { embedDim: E, numHeads: 6, headDim: 5, valueHeadDim: 4, seed: 2 };

const layers: [string, () => Attention][] = [
  ['MultiHeadAttention', () => new MultiHeadAttention(config, { position: samplePositions(6) })],
  [
    'GroupedQueryAttention',
    () => new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 }, { position: samplePositions(6) }),
  ],
];

const window = slidingWindow({ left: 3, right: 0 });

const caches: [name: string, create: (layer: Attention) => RowCache, shows?: Mask][] = [
  ['GrowingCache', (layer) => new GrowingCache(layer.cacheShape(B))],
  ['StaticCache', (layer) => new StaticCache(layer.cacheShape(B), { capacity: 12 })],
  ...(hasPages
    ? [['PagedCache', (layer) => ownPool(layer.cacheShape(B), 4)] as (typeof caches)[number]]
    : []),
  ['RingCache without sinks', (layer) => new RingCache(layer.cacheShape(B), { window: 4, sinks: 0 }), window],
];

const masks: [string, Mask][] = [
  ['causal', causal()],
  ['window', slidingWindow({ left: 2, right: 0 })],
];

/** Tokens of each sequence, more than any test takes. */
const sequences = () => tf.randomNormal<tf.Rank.R3>([B, 12, E], 0, 1, 'float32', 3);

/** Feeds sequences to a layer chunk by chunk, and gathers the outputs of what is no padding. */
class Batch {
  private readonly all = sequences();
  private readonly taken: number[] = Array(B).fill(0);
  private readonly outputs: tf.Tensor2D[][] = Array.from({ length: B }, () => []);

  constructor(
    private readonly layer: Attention,
    private readonly call: LayerCall,
  ) {}

  /** The next `counts[b]` tokens of each, in a chunk of S with the padding at one side. */
  take(
    counts: readonly number[],
    S: number,
    { padding, ...more }: { padding: 'left' | 'right' } & LayerCall,
  ): void {
    const first = counts.map((count) => (padding === 'left' ? S - count : 0));
    const entries = counts.map((count, b) => {
      const real = tf.slice(this.all, [b, this.taken[b]!, 0], [1, count, E]);
      const around = [first[b]!, S - count - first[b]!].map((n) =>
        tf.fill<tf.Rank.R3>([1, n, E], Number.NaN),
      );
      const pieces = [around[0]!, real, around[1]!].filter((piece) => piece.size > 0);
      return pieces.length > 1 ? tf.concat(pieces, 1) : pieces[0]!;
    });
    const { output } = this.layer.apply({ query: tf.concat(entries, 0) }, { ...this.call, ...more });
    counts.forEach((count, b) => {
      this.taken[b]! += count;
      const real = tf.slice(output, [b, first[b]!, 0], [1, count, E]);
      if (count > 0) this.outputs[b]!.push(tf.reshape(real, [count, E]));
    });
  }

  /** Each sequence alone, in one pass. */
  async expectAlone(mask: Mask): Promise<void> {
    for (const [b, count] of this.taken.entries()) {
      const query = tf.slice(this.all, [b, 0, 0], [1, count, E]);
      const { output } = this.layer.apply({ query }, { mask });
      expectClose({
        actual: await readAll({ output: tf.concat(this.outputs[b]!, 0) }),
        expected: await readAll({ output }),
      });
    }
  }
}

const pairs = layers.flatMap((layer) => caches.map((cache) => ({ layer, cache })));

describe.each(sampled(pairs, 7))(
  '$layer.0 with a $cache.0',
  ({ layer: [, createLayer], cache: [, cacheOf, shows] }) => {
    const seen = (mask: Mask) => (shows ? allOf(mask, shows) : mask);
    const run = async (use: (layer: Attention, cache: RowCache) => Promise<void>) => {
      const layer = createLayer();
      const cache = cacheOf(layer);
      await use(layer, cache);
      cache.dispose();
      layer.dispose();
    };

    it.each(sampled(masks, 2))('takes right-padded chunks: %s', (_, mask) =>
      run(async (layer, cache) => {
        const batch = new Batch(layer, { mask, cache });
        const take = (lengths: readonly number[], S: number) =>
          batch.take(lengths, S, { padding: 'right', lengths });
        take([3, 5, 1], 5);
        batch.take([1, 1, 1], 1, { padding: 'right' });
        take([1, 3, 2], 4);
        take([0, 1, 0], 1); // two sequences have ended
        batch.take([1, 1, 1], 1, { padding: 'right' });
        await batch.expectAlone(seen(mask));
      }),
    );

    const paddings = [2, 0, 4];
    const positions: [string, TokenPositions][] = [
      ['counted from before 0', { start: paddings.map((n) => -n) }],
      ['given one by one', { each: Int32Array.of(0, 0, 0, 1, 2, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0) }],
    ];

    it.each(sampled(positions, 2))('takes left-padded prompts, positions %s', (_, method) =>
      run(async (layer, cache) => {
        for (const [, mask] of masks) {
          const batch = new Batch(layer, { mask: allOf(mask, leftPadding(paddings)), cache });
          batch.take([3, 5, 1], 5, { padding: 'left', positions: [method] });
          for (let step = 0; step < 3; step++) batch.take([1, 1, 1], 1, { padding: 'right' });
          batch.take([2, 2, 2], 2, { padding: 'right' });
          await batch.expectAlone(seen(mask));
          cache.reset();
        }
      }),
    );
  },
);
