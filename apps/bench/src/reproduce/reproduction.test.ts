import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { loadPublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { reproduceSentences, wrongParts } from './reproduction';

const files = readModelFiles();
const sentences = ['Call me Ishmael.', 'Better sleep with a sober cannibal than a drunken Christian.'];

it("reproduces the graph's attention with the published weights, padding included, and leaves nothing behind", async () => {
  const before = tf.memory().numTensors;
  const model = await loadPublishedModel(files);
  const loaded = tf.memory().numTensors;
  const steps: number[] = [];
  const reproduction = await reproduceSentences(model, sentences, (done) => steps.push(done));
  expect(wrongParts(reproduction)).toEqual([]);
  expect(reproduction).toMatchObject({ sentences: 2, tokens: 7 + 15 });
  expect(steps).toEqual([2]);
  expect(tf.memory().numTensors).toBe(loaded);
  model.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

it('notices a layer with other weights, and names it', async () => {
  const model = await loadPublishedModel(files);
  const bias = tf.fill([512], 1e-3);
  model.layers[1]!.setWeights({ ...model.layers[1]!.getWeights(), 'key/bias': bias, 'output/bias': bias });
  const wrong = wrongParts(await reproduceSentences(model, sentences));
  expect(wrong).toEqual([expect.stringMatching(/^layer 2: output off by .* more than the 1\.5e-4 allowed$/)]);
  model.dispose();
});

it('takes NaN for wrong', () => {
  const layers = [{ weights: Number.NaN, output: 0 }];
  expect(wrongParts({ sentences: 1, tokens: 1, layers })).toHaveLength(1);
});
