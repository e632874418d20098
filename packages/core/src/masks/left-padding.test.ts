import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import type { Mask } from '../contract/mask';
import { attend } from '../kernel/attend';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { chunks } from './chunks';
import { globalTokens } from './global-tokens';
import { leftPadding } from './left-padding';
import { prefix } from './prefix';
import { slidingWindow } from './sliding-window';

const tokens = 6;

/** The mean of the numbers 1 to 6 of the tokens that each of the last queries sees; padding is number 99. */
async function means(mask: Mask, { padding = 0, queries = tokens }) {
  const keys = padding + tokens;
  const numbers = Array.from({ length: keys }, (_, j) => (j < padding ? 99 : j - padding + 1));
  const query: tf.Tensor4D = tf.zeros([1, 1, padding > 0 && queries === tokens ? keys : queries, 1]);
  const inputs = {
    query,
    key: tf.zeros<tf.Rank.R4>([1, 1, keys, 1]),
    value: tf.tensor4d(numbers, [1, 1, keys, 1]),
  };
  const { output } = attend(composed(), inputs, { mask });
  return [...(await output.data())].slice(-queries).map((x) => Math.round(x * 1e4) / 1e4);
}

describe('behind left padding', () => {
  it.each([
    ['chunks', () => chunks(4)],
    ['a prefix', () => prefix(3)],
    ['a prefix of each entry', () => prefix([2])],
    ['global tokens', () => anyOf(slidingWindow({ left: 0 }), globalTokens([0, 3]))],
    ['global tokens of each entry', () => globalTokens([[1]])],
    ['a window', () => slidingWindow({ left: 1 })],
    ['masks of masks', () => anyOf(allOf(chunks(2), prefix(1)), globalTokens([4]))],
  ])('%s give what they give alone, all at once and token by token', async (_name, mask) => {
    const alone = await means(allOf(causal(), mask()), {});
    const padded = allOf(causal(), mask(), leftPadding([2]));
    expect(await means(padded, { padding: 2 })).toEqual(alone);
    expect(await means(allOf(allOf(leftPadding([2]), causal()), mask()), { padding: 2 })).toEqual(alone);
    expect(await means(padded, { padding: 2, queries: 1 })).toEqual(alone.slice(-1));
  });

  it('chunks(4) of 6 tokens', async () => {
    const mask = allOf(causal(), chunks(4), leftPadding([2]));
    expect(await means(mask, { padding: 2 })).toEqual([1, 1.5, 2, 2.5, 5, 5.5]);
  });
});
