// Tokens one after another, or in chunks, give what one pass over all of them gives.
import {
  expectClose,
  type Numbers,
  readAll,
  sampled,
  samplePositions,
  useOpaqueBackend,
} from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  causal,
  type LayerCall,
  leftPadding,
  type Mask,
  predicate,
  prefix,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import { backendTraits } from '@polyhead/core/kernel';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPages, ownPool } from './fixtures/own-pool';
import { GrowingCache, QuantizedCache, RingCache, SharedCache, StaticCache } from './index';
import type { RowCache } from './row-cache';

const [B, S, E] = [2, 9, 12];
const config = {
  embedDim: E,
  numHeads: 6,
  headDim: 5,
  valueHeadDim: 4,
  useBias: true,
  dropout: 0.3,
  seed: 1,
};

const layers: [string, () => Attention][] = [
  ['MultiHeadAttention', () => new MultiHeadAttention(config)],
  [
    'MultiHeadAttention with positions',
    () => new MultiHeadAttention(config, { position: samplePositions(6) }),
  ],
  [
    'MultiHeadAttention with memory',
    () => new MultiHeadAttention({ ...config, dropout: 0, numMemoryKeyValues: 2, addZeroAttention: true }),
  ],
  ['GroupedQueryAttention, 2 heads', () => new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 })],
  [
    'GroupedQueryAttention, 1 head, with positions',
    () => new GroupedQueryAttention({ ...config, numKeyValueHeads: 1 }, { position: samplePositions(6) }),
  ],
];

/** What a ring of one sink and a window of 4 shows. */
const ofRing = predicate((_b, _h, query, key) => key <= query && (key < 1 || key > query - 4), {
  perBatch: false,
  perHead: false,
});

const caches: [name: string, create: (layer: Attention) => RowCache, shows?: Mask | 'words'][] = [
  ['GrowingCache', (layer) => new GrowingCache(layer.cacheShape(B))],
  ['StaticCache', (layer) => new StaticCache(layer.cacheShape(B), { capacity: S })],
  ['RingCache', (layer) => new RingCache(layer.cacheShape(B), { window: 4, sinks: 1 }), ofRing],
  ...(hasPages && process.env.POLYHEAD_BACKEND === 'wasm'
    ? [['PagedCache', (layer) => ownPool(layer.cacheShape(B), 4)] as (typeof caches)[number]]
    : []),
  ['QuantizedCache', (layer) => new QuantizedCache(layer.cacheShape(B), { values: 'int4' }), 'words'],
];

interface MaskCase {
  readonly mask: Mask;
  readonly training?: { readonly seed: number };
  readonly first?: number; // the first chunk must hold so many tokens: they see each other
}

const masks: Record<string, MaskCase> = {
  causal: { mask: causal() },
  'causal, with dropout': { mask: causal(), training: { seed: 5 } },
  window: { mask: slidingWindow({ left: 2, right: 0 }) },
  'valid lengths': { mask: allOf(causal(), validLengths([4, 9])) },
  'left padding': { mask: allOf(causal(), leftPadding([3, 0])) },
  prefix: { mask: prefix([3, 1]), first: 3 },
  'all of four': {
    mask: allOf(prefix(2), slidingWindow({ left: 3, right: 3 }), validLengths([8, 9]), leftPadding([0, 1])),
    first: 3,
  },
};

/** Every way to cut S tokens into chunks; or some that differ most, of which each combination takes one half. */
const splits: readonly (readonly (readonly number[])[])[] = process.env.POLYHEAD_LONG
  ? [Array.from({ length: 2 ** (S - 1) }, (_, cuts) => chunksAt(cuts))]
  : [
      [
        [4, 5],
        [1, 1, 1, 1, 1, 1, 1, 1, 1],
        [2, 3, 3, 1],
      ],
      [[9], [8, 1], [3, 1, 1, 4]],
    ];
function splitsOf(combination: number, first: number): readonly (readonly number[])[] {
  const those = splits[combination % splits.length]!.filter(([size]) => size! >= first);
  return sampled(those, Math.min(3, those.length));
}

function chunksAt(cuts: number): number[] {
  const chunks = [1];
  for (let token = 1; token < S; token++) {
    if (cuts & (1 << (token - 1))) chunks.push(1);
    else chunks[chunks.length - 1]! += 1;
  }
  return chunks;
}

const tokens = () => tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 7);

function onePass(layer: Attention, call: LayerCall): Promise<Numbers> {
  const { output, logSumExp } = layer.apply({ query: tokens() }, { ...call, returns: ['logSumExp'] });
  return readAll({ output, logSumExp: logSumExp! });
}

function inChunks(layer: Attention, call: LayerCall, chunks: readonly number[]): Promise<Numbers> {
  const all = tokens();
  let at = 0;
  const parts = chunks.map((size) => {
    const query = tf.slice(all, [0, at, 0], [B, size, E]);
    at += size;
    return layer.apply({ query }, { ...call, returns: ['logSumExp'] });
  });
  const outputs = parts.map(({ output }) => output);
  const sums = parts.map(({ logSumExp }) => logSumExp!);
  return readAll({
    output: outputs.length > 1 ? tf.concat(outputs, 1) : outputs[0]!,
    logSumExp: sums.length > 1 ? tf.concat(sums, 2) : sums[0]!,
  });
}

async function checkSplits(
  layer: Attention,
  [, create, shows]: (typeof caches)[number],
  { first = 1, ...call }: MaskCase,
  n: number,
): Promise<void> {
  const cache = create(layer);
  if (shows === 'words' && !backendTraits().synchronousRead) {
    expect(() => inChunks(layer, { ...call, cache }, [S])).toThrow(/rows must be readable to be quantized/);
    cache.dispose();
    return;
  }
  // Numbers in words are off by what other tests bound: but by the same, however they come.
  const expected = await (shows === 'words'
    ? inChunks(layer, { ...call, cache }, [S])
    : onePass(layer, shows ? { ...call, mask: allOf(call.mask, shows) } : call));
  cache.reset();
  for (const chunks of splitsOf(n, first)) {
    expectClose({ actual: await inChunks(layer, { ...call, cache }, chunks), expected });
    cache.reset();
  }
  cache.dispose();
}

/** Each layer with each cache and each mask, numbered. */
const combined = (those: typeof layers, of: typeof caches) =>
  those
    .flatMap((layer) => of.flatMap((cache) => Object.entries(masks).map((mask) => ({ layer, cache, mask }))))
    .map((combination, n) => ({ ...combination, n }));

function describeSplits(those: typeof layers): void {
  const combinations = combined(those, caches);
  it.each(sampled(combinations, 47, { onTensorFlow: 3 }))(
    '$layer.0, $cache.0: $mask.0',
    async ({ layer, cache, mask, n }) => {
      const attention = layer[1]();
      await checkSplits(attention, cache, mask[1], n);
      attention.dispose();
    },
  );
}

describe('J1: any split of the tokens gives what one pass gives', () => describeSplits(layers));

/** Queries of another layer's tokens, which attend with rows that `layer` has kept. */
async function checkView(
  layer: Attention,
  [, create, shows]: (typeof caches)[number],
  { first = 1, ...call }: MaskCase,
  n: number,
): Promise<void> {
  const queries = tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 8);
  const mask = shows ? allOf(call.mask, shows as Mask) : call.mask;
  const whole = layer.apply({ query: queries, key: tokens(), cross: false }, { ...call, mask });
  const expected = await readAll({ output: whole.output });
  const cache = create(layer);
  const view = new SharedCache(cache);
  for (const chunks of splitsOf(n, first)) {
    let at = 0;
    const parts = chunks.map((size) => {
      const part = (x: tf.Tensor3D) => tf.slice(x, [0, at, 0], [B, size, E]);
      layer.apply({ query: part(tokens()) }, { ...call, cache });
      const { output } = layer.apply({ query: part(queries) }, { ...call, cache: view });
      at += size;
      return output;
    });
    const output = parts.length > 1 ? tf.concat(parts, 1) : parts[0]!;
    expectClose({ actual: await readAll({ output }), expected });
    cache.reset();
  }
  cache.dispose();
}

describe('a view of another layer’s cache: any split of the tokens gives what one pass gives', () => {
  const ring: (typeof caches)[number] = [
    'RingCache',
    (layer) => new RingCache(layer.cacheShape(B), { window: 4, sinks: 1, rollback: S }),
    ofRing,
  ];
  const sources = [...caches.filter(([name, , shows]) => name !== 'RingCache' && shows !== 'words'), ring];
  const combinations = combined(layers, sources);
  it.each(sampled(combinations, 41, { onTensorFlow: 3 }))(
    '$layer.0, $cache.0: $mask.0',
    async ({ layer, cache, mask, n }) => {
      const attention = layer[1]();
      await checkView(attention, cache, mask[1], n);
      attention.dispose();
    },
  );
});

if (process.env.POLYHEAD_BACKEND === 'cpu') {
  describe('the same where tensors cannot be reached', () => {
    let back: () => Promise<void>;
    beforeAll(async () => {
      back = await useOpaqueBackend();
    });
    afterAll(() => back());
    describeSplits(layers.filter(([name]) => name.includes('positions')));
  });
}
