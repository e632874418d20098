import { type Attention, composed } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { sampleLayer } from '../oracle/sampled-layer';
import { type ComparedLayer, timeCached } from './cached-speed';
import { caches } from './caches';

const config = { embedDim: 24, numHeads: 4, seed: 1 };
const compared = (name: string, attention: Attention): ComparedLayer => ({
  shape: { name: 'gpt-2', config },
  variant: { name },
  attention,
  kernel: composed(),
  sampled: sampleLayer(attention, { heads: [0, 3], columns: [0, 5, 23] }),
});
const multiHead = () => compared('multi-head', new MultiHeadAttention(config));
const multiQuery = () =>
  compared('multi-query', new GroupedQueryAttention({ ...config, numKeyValueHeads: 1 }));
const run = { caches, batch: 3, tokens: 32, samples: 4 };

it.each(['prefill', 'decode'] as const)('times %s, checked, and leaves nothing behind', async (phase) => {
  const layers = [multiHead(), multiQuery()];
  const before = tf.memory().numTensors;
  const timings = await timeCached(layers, { ...run, phase });
  expect(tf.memory().numTensors).toBe(before);
  expect(timings.map(({ variant, cache }) => `${variant} ${cache}`)).toEqual([
    'multi-head growing',
    'multi-head ring',
    'multi-head static',
    'multi-query growing',
    'multi-query ring',
    'multi-query static',
  ]);
  for (const timing of timings) {
    expect(timing).toMatchObject({ phase, kernel: 'composed', batch: 3, tokens: 32, samples: 4 });
    const bytes = 3 * timing.keyValueHeads * 32 * (6 + 6) * 4;
    expect(timing.bytes).toEqual({ predicted: bytes, held: bytes, allocated: bytes });
    expect(timing.error).toBeLessThan(1e-5);
    const newTokens = 3 * (phase === 'prefill' ? 32 : 1);
    expect((timing.tokensPerSecond * timing.median) / 1000).toBeCloseTo(newTokens, 8);
  }
  expect(timings.slice(0, 3).map(({ speedUp }) => speedUp)).toEqual([1, 1, 1]);
  const [growing, queryGrowing] = [timings[0]!, timings[3]!];
  expect(queryGrowing.speedUp).toBeCloseTo(growing.median / queryGrowing.median, 8);
  for (const { attention } of layers) attention.dispose();
});

it.each(['prefill', 'decode'] as const)('refuses to time a wrong %s', async (phase) => {
  const layers = [multiHead(), multiQuery()];
  const { attention } = layers[1]!;
  attention.setWeights({ ...attention.getWeights(), 'value/kernel': tf.ones([24, 6]) });
  const before = tf.memory().numTensors;
  await expect(timeCached(layers, { ...run, phase })).rejects.toThrow(
    `${phase} of gpt-2, multi-query, growing cache, batch 3, 32 tokens: the output is off by`,
  );
  expect(tf.memory().numTensors).toBe(before);
});
