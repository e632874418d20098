import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { chunks } from './chunks';
import { compileMask } from './compile-mask';
import { dense } from './dense';
import { globalTokens } from './global-tokens';
import { leftPadding } from './left-padding';
import { predicate } from './predicate';
import { prefix } from './prefix';
import { segments } from './segments';
import { slidingWindow } from './sliding-window';
import { validLengths } from './valid-lengths';

describe('masks refuse', () => {
  const call = { batch: 2, heads: 3, queries: 4, keys: 5 };
  const geometry = { ...call, queryStart: [1], keyOrder: { start: [0] }, lengths: [5] };
  it.each([
    ['lengths that are no counts', () => validLengths([1.5]), /lengths must be a list of whole numbers/],
    ['negative padding', () => leftPadding([-1]), /counts must be a list of whole numbers/],
    ['a window of a broken width', () => slidingWindow({ left: Number.NaN }), /left must be a whole number/],
    [
      'lengths of another batch',
      () => validLengths([1, 2, 3]).check?.(call),
      /one length for each batch entry/,
    ],
    [
      'row lengths of another length',
      () => validLengths([[1], [2]]).check?.(call),
      /one length for each query row/,
    ],
    ['padding of another batch', () => leftPadding([1]).check?.(call), /one count for each batch entry/],
    ['a chunk of nothing', () => chunks(0), /size must be a whole number above 0/],
    [
      'segments of too few tokens',
      () => segments([[0], [1]]).check?.(call),
      /every token of every batch entry/,
    ],
    ['a prefix of another batch', () => prefix([1]).check?.(call), /one length for each batch entry/],
    [
      'global tokens of another batch',
      () => globalTokens([[1], [2], [3]]).check?.(call),
      /one list for each/,
    ],
    ['lengths that are no list', () => validLengths(3 as never), /lengths must be a list of whole numbers/],
    [
      'a mixed list of lengths',
      () => validLengths([[1], 2] as never),
      /lengths must be a list of whole numbers/,
    ],
    ['a window given by one number', () => slidingWindow(3 as never), /sides must be an object/],
    ['a window of unknown sides', () => slidingWindow({ width: 3 } as never), /unknown +\[width\]/],
    ['a predicate that is no function', () => predicate(3 as never), /rule must be a function/],
    [
      'a predicate that gives a Promise',
      () => compileMask(predicate((async () => false) as never), geometry),
      /rule must give true or false/,
    ],
    ['segments that are no lists', () => segments(3 as never), /ids must be a list of segments/],
    ['a tensor among masks', () => allOf(causal(), tf.ones([4, 5], 'bool') as never), /give dense\(mask\)/],
    ['a function among masks', () => anyOf(causal as never), /must be a Mask, such as causal\(\)/],
    ['a dense mask that is no tensor', () => dense([[1, 0]] as never), /mask must be a tensor/],
    ['a float tensor', () => dense(tf.ones([2, 2])), /are a `bias`/],
    [
      'rank 3',
      () => dense(tf.ones([2, 2, 2], 'bool')),
      /rank 3 could mean two things: tf\.expandDims\(mask, 1\)/,
    ],
    [
      'a tensor of another shape',
      () => compileMask(dense(tf.ones([5, 4], 'bool')), geometry),
      /mask must broadcast/,
    ],
    [
      'a rank-4 tensor of other heads',
      () => compileMask(dense(tf.ones([1, 2, 1, 5], 'bool')), geometry),
      /must broadcast/,
    ],
    ['or-ing a tensor', () => anyOf(causal(), dense(tf.ones([4, 5], 'bool'))), /tf\.logicalOr/],
  ])('%s', (_name, act, message) => {
    expect(act).toThrow(message);
  });
});
