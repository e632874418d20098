import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../command-line/errors';
import { loadEncoderReader } from './encoder-reader';
import { type Reader, readText } from './reader';
import { fromLines, mapLines } from './text-maps';

const terminal = { width: 132, color: false };

describe('the encoder as a reader', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await loadEncoderReader();
  });
  afterAll(() => reader.dispose());
  const draw = async (text: string) => mapLines(await readText(reader, text, 2), 2, terminal).join('\n');

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

  it('names the strongest words of a word, by head, and words of the text where it has no such', async () => {
    const read = await readText(reader, 'The bank by the river.', 2);
    const lines = fromLines(read, 'RIVER', 80);
    expect(lines[1]).toBe('From “river”, the words it looks at, with their share');
    expect(lines.filter((line) => line.startsWith('head '))).toHaveLength(4);
    expect(fromLines(read, 'the', 80).filter((line) => line.startsWith('From'))).toEqual([
      'From “The”, the 1. of 2, the words it looks at, with their share',
      'From “the”, the 2. of 2, the words it looks at, with their share',
    ]);
    expect(() => fromLines(read, 'sea\u001b', 80)).toThrow(
      '--from: “sea␛” is no word of the text, whose words are: The bank by the river .',
    );
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
