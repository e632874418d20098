import { attend, causal, composed } from '@polyhead/core';
import { QuantizedCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { flash } from './flash';

// A full tile whose last piece is a part with one key, behind another tile: products of two keys at a time must stay inside.
it.each([1, 2, 3, 4])('a token of its own part behind full tiles, %i query heads a key head', async (G) => {
  const [B, Hkv, D, n] = [1, 2, 64, 127];
  const kernel = flash();
  await kernel.prepare?.();
  const cache = new QuantizedCache({ batch: B, heads: Hkv, keySize: D, valueSize: D });
  const rows = (heads: number, tokens: number, seed: number) =>
    tf.randomNormal<tf.Rank.R4>([B, heads, tokens, D], 0, 1, 'float32', seed);
  tf.tidy(() => {
    cache.stage({ key: rows(Hkv, n, 1), value: rows(Hkv, n, 2) }).commit();
    const query = rows(Hkv * G, 1, 3);
    const { stored } = cache.stage({ key: rows(Hkv, 1, 4), value: rows(Hkv, 1, 5) });
    const [ours, plain] = [kernel, composed()].map((each) =>
      attend(each, { query, stored: stored! }, { mask: causal() }).output.dataSync(),
    );
    for (const [i, number] of ours!.entries()) expect(number).toBeCloseTo(plain![i]!, 5);
  });
  cache.dispose();
  kernel.dispose?.();
});
