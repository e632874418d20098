import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { loadedOwnModel } from '../model/own/own-model';
import { decoderReader } from './decoder-reader';
import { readText } from './reader';

it('reads causal weights of each layer, whose rows sum to 1, and leaves nothing behind', async () => {
  const reader = decoderReader(await loadedOwnModel());
  const before = tf.memory().numTensors;
  const text = 'The sea.';
  const reads = await Promise.all([1, 2, 3, 4].map((layer) => readText(reader, `${text}\n`, layer)));
  expect(tf.memory().numTensors).toBe(before);
  expect([reader.layers, reader.usualLayer]).toEqual([4, 2]);
  for (const { heads, pieces } of reads) {
    expect(pieces.map((piece) => piece.text).join('')).toBe('The␠sea.');
    expect(heads).toHaveLength(4);
    for (const row of heads.flat()) expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
    for (const rows of heads)
      for (const [i, row] of rows.entries()) expect(row.slice(i + 1).every((w) => w === 0)).toBe(true);
  }
  expect(reads[0]!.heads).not.toEqual(reads[1]!.heads);
  expect(() => reader.tokenize(' ')).toThrow('the text is empty');
  expect(() => reader.tokenize('sea '.repeat(99))).toThrow('395 tokens long: up to 128 can be drawn');
  reader.dispose();
});
