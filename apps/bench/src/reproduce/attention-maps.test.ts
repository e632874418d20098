import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { loadPublishedModel, type PublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { attentionMaps } from './attention-maps';

const terminal = { width: 132, color: false };

describe('attentionMaps', () => {
  let model: PublishedModel;
  beforeAll(async () => {
    model = await loadPublishedModel(readModelFiles());
  });
  afterAll(() => model.dispose());
  const draw = async (text: string) => (await attentionMaps(model, { text, layer: 2 }, terminal)).join('\n');

  it('draws rows that sum to 1, a map a head', async () => {
    const before = tf.memory().numTensors;
    const drawn = await draw('Call me Ishmael.');
    expect(tf.memory().numTensors).toBe(before);
    expect(drawn).toContain('head 1                        head 2                        head 3');
    const row = drawn.split('\n').find((line) => line.startsWith('Call'))!;
    const values = row.match(/\.\d\d/g)!.map(Number);
    expect(values).toHaveLength(4 * 7);
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(4, 0.7);
  });

  it('joins lines and says what it left out', async () => {
    const drawn = await draw('two 😀\n lines');
    expect(drawn).toContain('“two 😀 lines”');
    expect(drawn).toContain("not in the model's vocabulary: 😀");
  });

  it('draws the first tokens of a long text and says so', async () => {
    expect(await draw('the sea '.repeat(50))).toContain('The first 40 of 100 tokens are drawn.');
  });

  it.each([
    ['empty', '', 'the text is empty'],
    ['blank', ' \n\t ', 'the text is empty'],
    ['emoji', '😀😀', 'nothing in the text'],
    ['Hebrew', 'שלום עולם', 'nothing in the text'],
    ['far too long', 'sea '.repeat(5000), '5,000 tokens long: the model reads 128'],
  ])('refuses a text that is %s', async (_, text, message) => {
    const before = tf.memory().numTensors;
    await expect(draw(text)).rejects.toThrow(UsageError);
    await expect(draw(text)).rejects.toThrow(message);
    expect(tf.memory().numTensors).toBe(before);
  });
});
