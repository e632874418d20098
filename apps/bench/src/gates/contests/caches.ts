// What it costs to read a cache, to add to it and to fork it, beside the simplest one.
import { attend, causal } from '@polyhead/core';
import {
  GrowingCache,
  PagedCache,
  PagePool,
  type PagePoolOptions,
  QuantizedCache,
  type QuantizedCacheOptions,
  RingCache,
  StaticCache,
} from '@polyhead/kv-cache';
import type { RowCache } from '@polyhead/kv-cache/row-cache';
import * as tf from '@tensorflow/tfjs-core';
import { againstNumbers } from '../check';
import type { Contest } from '../contest';
import type { Contestant } from '../contestant';
import type { Gate } from '../gate';
import { kernelUnderTest } from '../kernel-under-test';
import { polyhead } from '../peers/polyhead';
import { tensorContestant } from '../tensor-contestant';

const shape = { batch: 1, heads: 8, keySize: 128, valueSize: 128 };
const queryHeads = 32;

interface Kind {
  readonly op: string;
  create(tokens: number): RowCache;
}

const pages = (pageSize: number): Kind => ({
  op: `pages of ${pageSize}`,
  create: (tokens) => pagedCache({ pages: Math.ceil(tokens / pageSize) + 1, pageSize }),
});
/** Every other page is another cache's, as in a pool where caches have come and gone. */
const pagesApart = (pageSize: number): Kind => ({
  op: `pages of ${pageSize}, none beside the next`,
  create: (tokens) => pagedCache({ pages: 2 * Math.ceil(tokens / pageSize) + 1, pageSize }, 'apart'),
});

/** With a pool of its own. */
function pagedCache(options: PagePoolOptions, place?: 'apart'): RowCache {
  const pool = new PagePool(shape, options);
  const others = Array.from({ length: place ? options.pages : 0 }, () => {
    const cache = new PagedCache(pool, shape);
    append(cache, 1, 7);
    return cache;
  });
  const stay = others.filter((cache, n) => {
    if (n % 2 === 0) cache.dispose();
    return n % 2 === 1;
  });
  const cache = new PagedCache(pool, shape);
  const { dispose } = PagedCache.prototype;
  cache.dispose = function (this: PagedCache) {
    dispose.call(this);
    for (const other of stay.splice(0)) other.dispose();
    if (pool.freePages === pool.pages) pool.dispose();
  };
  return cache;
}

const fixed: Kind = { op: 'static', create: (capacity) => new StaticCache(shape, { capacity }) };
const ring: Kind = {
  op: 'ring',
  create: (tokens) => new RingCache(shape, { window: tokens - 4, sinks: 4 }),
};
const quantized = (op: string, options: QuantizedCacheOptions): Kind => ({
  op,
  create: () => new QuantizedCache(shape, options),
});
const int8 = quantized('int8', {});
const int8int4 = quantized('keys int8, values int4', { values: 'int4' });
const int4 = quantized('int4', { keys: 'int4', values: 'int4' });
const byChannel = quantized('keys int4 by channel, values int4', { keys: 'int4-channel', values: 'int4' });

function append(cache: RowCache, tokens: number, seed: number): void {
  const chunk = 1024;
  for (let at = 0; at < tokens; at += chunk) {
    tf.tidy(() => {
      const size = [1, shape.heads, Math.min(chunk, tokens - at), 128] as [number, number, number, number];
      const [key, value] = [seed, seed + 1].map((own) =>
        tf.randomUniform<tf.Rank.R4>(size, -2, 2, 'float32', own + at),
      );
      cache.stage({ key: key!, value: value! }).commit();
    });
  }
}

const beside = (ours: string, peer: string, bounds: Pick<Gate, 'bound' | 'aim' | 'measure'>): Gate => ({
  ours,
  peer: polyhead,
  ops: [peer],
  ...bounds,
});

function decodeContest(tokens: number): Contest {
  return {
    work: `decode from caches, 32/8 heads, D 128, ${tokens} keys`,
    runs: 15,
    gates: [
      beside(ring.op, fixed.op, { measure: 'speed', bound: 0.95, aim: 1 }),
      ...[pages, pagesApart].flatMap((kind) => [
        beside(kind(64).op, fixed.op, { measure: 'speed', bound: 0.9, aim: 0.97 }),
        beside(kind(16).op, fixed.op, { measure: 'speed', bound: 0.75, aim: 0.9 }),
      ]),
      beside(int8.op, fixed.op, { measure: 'speed', bound: 1.3, aim: 2 }),
      beside(int8int4.op, int8.op, { measure: 'speed', bound: 0.9, aim: 1.1 }),
      beside(int4.op, fixed.op, { measure: 'speed' }),
      beside(byChannel.op, fixed.op, { measure: 'speed' }),
    ],
    async enter(threads) {
      const kernel = await kernelUnderTest('flash', threads);
      const query = tf.randomNormal<tf.Rank.R4>([1, queryHeads, 1, 128], 0, 1, 'float32', 5);
      const paged = [pages, pagesApart].flatMap((kind) => [kind(64), kind(16)]);
      const entries = [fixed, ring, ...paged, int8, int8int4, int4, byChannel].map((kind) => {
        const cache = kind.create(tokens);
        append(cache, tokens, 7);
        const options = { mask: causal(), queryStart: tokens - 1 };
        const run = () => attend(kernel, { query, stored: cache.read() }, options).output;
        // Compared with the same rows as floats: what a format costs a model is another question.
        const check = (numbers: readonly Float32Array[]) => {
          const expected = tf.tidy(() => {
            const { key, value } = cache.read().materialize();
            return attend(kernel, { query, key, value }, options).output.dataSync<'float32'>();
          });
          return againstNumbers([expected])(numbers);
        };
        return tensorContestant({ peer: polyhead, op: kind.op, run, check, dispose: () => cache.dispose() });
      });
      return {
        entries,
        dispose() {
          query.dispose();
          kernel.dispose?.();
        },
      };
    },
  };
}

const appends = 50; // one takes microseconds
const room = 5000; // for those of all runs

/** Full, so that each token takes the place of one that leaves. */
const fullRing: Kind = {
  op: 'ring',
  create: (tokens) => new RingCache(shape, { window: tokens - room - 4 }),
};

function appendContest(kind: Kind): Contest {
  const op = (tokens: number) => `${kind.op}, ${tokens} tokens`;
  const [few, many] = [100, 100_000];
  return {
    work: `append a token, ${kind.op}, 8 heads of 128`,
    runs: 25,
    gates: [beside(op(many), op(few), { measure: 'time', bound: 1.5, aim: 1.1 })],
    async enter() {
      const entries = [few, many].map((tokens): Contestant => {
        const cache = kind.create(tokens + room);
        const rows = tf.ones<tf.Rank.R4>([1, shape.heads, 100, 128]);
        for (let at = 0; at < tokens; at += 100) cache.stage({ key: rows, value: rows }).commit();
        rows.dispose();
        const row = tf.ones<tf.Rank.R4>([1, shape.heads, 1, 128]);
        const one = { key: row, value: row };
        const run = () => {
          for (let n = 0; n < appends; n++) tf.tidy(() => cache.stage(one).commit());
          return tf.scalar(0);
        };
        const dispose = () => {
          row.dispose();
          cache.dispose();
        };
        return tensorContestant({ peer: polyhead, op: op(tokens), run, dispose });
      });
      return { entries };
    },
  };
}

const forkContest: Contest = {
  work: 'fork of 4096 tokens, 8 heads, D 128',
  runs: 25,
  gates: [beside('pages of 64', 'growing', { measure: 'time share', bound: 0.02 })],
  async enter() {
    const entries = [pages(64), { op: 'growing', create: () => new GrowingCache(shape) }].map(
      (kind: Kind) => {
        const cache = kind.create(4096);
        append(cache, 4096, 7);
        // Several: what a run takes beside, a scalar among it, is as long as a fork of pages.
        const run = () => {
          for (let n = 0; n < 8; n++) cache.fork().dispose();
          return tf.scalar(0);
        };
        return tensorContestant({ peer: polyhead, op: kind.op, run, dispose: () => cache.dispose() });
      },
    );
    return { entries };
  },
};

export const cacheContests: readonly Contest[] = [
  decodeContest(16_384),
  ...[fixed, fullRing, pages(64)].map(appendContest),
  forkContest,
];
