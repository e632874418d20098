// A chat for ever in bounded memory: decoding from a ring gives what one pass with its mask gives, for each variant,
// position method and kernel.
import { expectClose, toHost } from '@polyhead/conformance';
import {
  type Attention,
  allOf,
  anyOf,
  causal,
  composed,
  globalTokens,
  type LayerParts,
  type PositionMethod,
  slidingWindow,
} from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { RingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { alibi, rotary, shaw } from './index';

const [B, S, E] = [2, 13, 24];
const config = { embedDim: E, numHeads: 4, headDim: 6, useBias: true, seed: 1 };

const variants: Readonly<Record<string, (parts: LayerParts) => Attention>> = {
  MultiHeadAttention: (parts) => new MultiHeadAttention(config, parts),
  GroupedQueryAttention: (parts) => new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 }, parts),
};

const positions: Readonly<Record<string, () => PositionMethod>> = {
  rotary: () => rotary({ headDim: 6 }),
  alibi: () => alibi({ numHeads: 4 }),
  shaw: () => shaw({ headDim: 6, maxRelativePosition: 3, seed: 2 }),
};

const kernels = { composed, flash: () => ({ ...flash(), worthwhile: () => true }) };
const splits = [[13], Array<number>(13).fill(1), [9, 1, 1, 2], [2, 6, 1, 4]];

const sees = allOf(causal(), anyOf(globalTokens([0, 1]), slidingWindow({ left: 3, right: 0 })));

describe.each(Object.keys(variants))('%s', (variant) => {
  describe.each(Object.keys(positions))('with %s', (position) => {
    it.each(Object.keys(kernels) as (keyof typeof kernels)[])(
      'decodes from a ring by %s as one pass',
      (name) => {
        const layer = variants[variant]!({ position: positions[position]!(), kernel: kernels[name]() });
        const query = tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 7);
        const expected = {
          output: toHost(layer.apply({ query }, { mask: sees, kernel: composed() }).output),
        };
        const cache = new RingCache(layer.cacheShape(B), { window: 4, sinks: 2 });
        for (const counts of splits) {
          let from = 0;
          const outputs = counts.map((count) => {
            const rows = tf.slice(query, [0, from, 0], [B, count, E]);
            from += count;
            return layer.apply({ query: rows }, { mask: causal(), cache }).output;
          });
          const output = outputs.length > 1 ? tf.concat(outputs, 1) : outputs[0]!;
          expectClose({ actual: { output: toHost(output) }, expected });
          cache.reset();
        }
        cache.dispose();
        layer.dispose();
      },
    );
  });
});
