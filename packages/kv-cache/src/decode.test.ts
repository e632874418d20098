// Tokens one after another, or in chunks, give what one pass over all of them gives.
import { expectClose, type Numbers, samplePositions, toHost, useOpaqueBackend } from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  causal,
  type LayerCall,
  leftPadding,
  type Mask,
  prefix,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { GrowingCache, StaticCache } from './index';
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

const caches: [string, (layer: Attention) => RowCache][] = [
  ['GrowingCache', (layer) => new GrowingCache(layer.cacheShape(B))],
  ['StaticCache', (layer) => new StaticCache(layer.cacheShape(B), { capacity: S })],
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
    first: 2,
  },
};

/** Every way to cut S tokens into chunks, or some that differ most. */
const splits: readonly (readonly number[])[] = process.env.POLYHEAD_LONG
  ? Array.from({ length: 2 ** (S - 1) }, (_, cuts) => chunksAt(cuts))
  : [[9], [1, 1, 1, 1, 1, 1, 1, 1, 1], [4, 5], [3, 1, 1, 4], [8, 1], [2, 3, 3, 1]];

function chunksAt(cuts: number): number[] {
  const chunks = [1];
  for (let token = 1; token < S; token++) {
    if (cuts & (1 << (token - 1))) chunks.push(1);
    else chunks[chunks.length - 1]! += 1;
  }
  return chunks;
}

const tokens = () => tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 7);

function onePass(layer: Attention, call: LayerCall): Numbers {
  const { output, logSumExp } = layer.apply({ query: tokens() }, { ...call, returns: ['logSumExp'] });
  return { output: toHost(output), logSumExp: toHost(logSumExp!) };
}

function inChunks(layer: Attention, call: LayerCall, chunks: readonly number[]): Numbers {
  const all = tokens();
  let at = 0;
  const parts = chunks.map((size) => {
    const query = tf.slice(all, [0, at, 0], [B, size, E]);
    at += size;
    return layer.apply({ query }, { ...call, returns: ['logSumExp'] });
  });
  const outputs = parts.map(({ output }) => output);
  const sums = parts.map(({ logSumExp }) => logSumExp!);
  return {
    output: toHost(outputs.length > 1 ? tf.concat(outputs, 1) : outputs[0]!),
    logSumExp: toHost(sums.length > 1 ? tf.concat(sums, 2) : sums[0]!),
  };
}

function checkSplits(layer: Attention, cache: RowCache, { first = 1, ...call }: MaskCase): void {
  const expected = onePass(layer, call);
  for (const chunks of splits.filter(([size]) => size! >= first)) {
    tf.tidy(() => expectClose({ actual: inChunks(layer, { ...call, cache }, chunks), expected }));
    cache.reset();
  }
  cache.dispose();
}

function describeSplits(those: typeof layers): void {
  for (const [layerName, createLayer] of those) {
    for (const [cacheName, cacheOf] of caches) {
      it.each(Object.entries(masks))(`${layerName}, ${cacheName}: %s`, (_, found) => {
        const layer = createLayer();
        checkSplits(layer, cacheOf(layer), found);
        layer.dispose();
      });
    }
  }
}

describe('J1: any split of the tokens gives what one pass gives', () => describeSplits(layers));

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
