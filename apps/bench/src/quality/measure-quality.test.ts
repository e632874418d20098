import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { decoderOf } from '../model/loaded-model';
import { loadedOwnModel } from '../model/own/own-model';
import { idsOf } from '../model/proof';
import { qualityChoices } from './choices';
import { measureQuality } from './measure-quality';

const progress = { stage: () => {}, advance: () => {} };
const text =
  'Call me Ishmael. Some years ago, never mind how long precisely, I thought I would sail about a little.';

it('is the exponential of the mean cross-entropy, and leaves the model and memory as they were', async () => {
  const loaded = await loadedOwnModel();
  const ids = idsOf(loaded, text).slice(0, 90);
  const before = tf.memory().numTensors;
  const perplexity = () =>
    tf.tidy(() => {
      const { logits } = decoderOf(loaded.model).apply(tf.tensor2d([ids.slice(0, -1)], undefined, 'int32'));
      return Math.exp(crossEntropy(logits, [ids.slice(1)]).dataSync()[0]!);
    });
  const expected = perplexity();
  const { points, tokens } = await measureQuality(loaded, { text, tokens: 90, progress });
  expect(tf.memory().numTensors).toBe(before);
  expect(perplexity()).toBe(expected); // pooled heads are taken back
  expect(tokens).toBe(90);
  expect(points.map(({ name }) => name)).toEqual(qualityChoices.map(({ name }) => name));
  const of = (name: string) => points.find((point) => point.name === name)!;
  const [first] = points as [(typeof points)[number]];
  expect(first.perplexity / expected).toBeCloseTo(1, 4);
  expect(first.bytes).toBe(4 * 90 * 4 * 2 * 2 * 32); // floats, tokens, layers, keys and values, heads, size
  expect(of('8 bits').perplexity / expected).toBeCloseTo(1, 1);
  expect(of('8 bits').bytes).toBeLessThan(first.bytes / 3);
  expect(of('all layers pooled').bytes).toBe(first.bytes / 2);
  expect(of('all layers pooled').perplexity).toBeGreaterThan(expected);
  loaded.model.dispose();
});
