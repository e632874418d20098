import { causal, composed } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { missingPeer } from '../../../../scripts/peers/import-peer';
import { allowedError, relativeError } from '../measure/relative-error';
import { openOnnxLayer } from './onnx-layer';
import { onnxPeers } from './peers/onnxruntime';

it.for(onnxPeers)(
  '%s computes what a layer of ours computes, token by token, and again',
  {
    timeout: 60_000,
  },
  async (peer, { skip }) => {
    skip(missingPeer(peer) !== undefined, missingPeer(peer));
    const [E, heads, keyValueHeads, D, held] = [48, 6, 2, 16, 5];
    const layer = new GroupedQueryAttention(
      { embedDim: E, numHeads: heads, numKeyValueHeads: keyValueHeads, headDim: D, seed: 1 },
      { kernel: composed(), position: rotary({ headDim: D }) },
    );
    const cache = new GrowingCache(layer.cacheShape(1));
    const random = (S: number, seed: number) => tf.randomNormal<tf.Rank.R3>([1, S, E], 0, 1, 'float32', seed);
    const apply = (query: tf.Tensor3D) => layer.apply({ query }, { mask: causal(), cache }).output.dataSync();
    apply(random(held, 2));
    const rows = cache.read().materialize();
    const numbers = (tensor: tf.Tensor) => tensor.dataSync<'float32'>().slice();
    const weightOf = (name: string) => numbers(layer.getWeights()[`${name}/kernel`]!);
    const token = random(1, 3);
    const own = await openOnnxLayer(
      peer,
      { width: E, heads, keyValueHeads, headDim: D },
      {
        weights: {
          query: weightOf('query'),
          key: weightOf('key'),
          value: weightOf('value'),
          output: weightOf('output'),
        },
        earlier: { key: numbers(rows.key), value: numbers(rows.value) },
        x: numbers(token),
        capacity: held + 3,
      },
    );
    const expected = [1, 2, 3].map(() => apply(token));
    for (const round of ['first', 'again']) {
      own.reset();
      for (const output of expected)
        expect(relativeError(await own.step(), output), round).toBeLessThan(allowedError);
    }
    cache.dispose();
    layer.dispose();
  },
);
