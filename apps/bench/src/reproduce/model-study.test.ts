import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { loadPublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { studyModel } from './model-study';

it('studies both layers and leaves nothing behind', async () => {
  const model = await loadPublishedModel(readModelFiles());
  const before = tf.memory().numTensors;
  const sentences = [
    'Better sleep with a sober cannibal than a drunken Christian.',
    'It is not down in any map; true places never are.',
  ];
  const done: number[] = [];
  const study = await studyModel(model, sentences, (n) => done.push(n));
  expect(tf.memory().numTensors).toBe(before);
  expect(done).toEqual([1, 2]);
  expect(study).toMatchObject({ sentences: 2, tokens: 28 });
  expect(study.layers).toHaveLength(2);
  for (const { variants, heads } of study.layers) {
    const [all, two, one] = variants.map(({ similarity }) => similarity.mean) as [number, number, number];
    expect(all).toBeCloseTo(1, 6);
    expect(two).toBeGreaterThan(one);
    expect(one).toBeGreaterThan(0);
    expect(two).toBeLessThan(0.999);
    expect(heads).toHaveLength(4);
    for (const { ablation, patternShare } of heads) {
      expect(ablation).toBeGreaterThan(0);
      expect(patternShare).toBeGreaterThan(0);
    }
  }
  // Three times 256 · 256 + 256, and 256 · 512 + 512; then four times 512 · 512 + 512.
  expect(study.layers.map(({ variants }) => variants[0]!.parameters)).toEqual([328_960, 1_050_624]);
  model.dispose();
});
