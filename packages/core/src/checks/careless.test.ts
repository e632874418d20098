// Values that are none, where a careless call gives them.
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  allOf,
  anyOf,
  attend,
  ConfigError,
  causal,
  composed,
  fromConfig,
  intersectSpans,
  normalizeSpans,
  scaledDotProductAttention,
} from '../index';

const heads = () => tf.ones<tf.Rank.R4>([1, 1, 2, 2]);
const call = (options: object) =>
  attend(composed(), { query: heads(), key: heads(), value: heads() }, options);

describe('a ConfigError that names it, for', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['0 as a mask', () => call({ mask: 0 }), /mask must be a Mask/],
    ['an empty text as a mask', () => call({ mask: '' }), /mask must be a Mask/],
    ['a mask that is not there', () => allOf(causal(), undefined as never), /allOf: mask must be a Mask/],
    ['no mask at all', () => anyOf(null as never), /anyOf: mask must be a Mask/],
    ['options that are awaited', () => call(Promise.resolve({})), /options must be an object/],
    [
      'a start beside each',
      () => call({ positions: { query: { start: [0], each: Int32Array.of(0, 1) }, key: { start: [0] } } }),
      /a start or each, not both/,
    ],
    ['spans that are none', () => intersectSpans([[0, 2]], [[3, 1]]), /spans must be a list/],
    ['spans that are no list', () => intersectSpans(5 as never, []), /spans must be a list/],
    ['bounds that are none', () => normalizeSpans([[0, 2]], undefined as never), /spans must be a list/],
    ['bounds that are no numbers', () => normalizeSpans([[0, 2]], [0, '3' as never]), /spans must be a list/],
    [
      'results that are not given',
      () => scaledDotProductAttention(heads(), heads(), heads(), { returns: ['logSumExp'] } as never),
      /returns may be a list of weights/,
    ],
    ['entries of JSON', () => fromConfig({ kind: 'causal', window: 4 }, [causal]), /known entries only/],
  ])('%s', (_, f, message) => {
    expect(f).toThrow(ConfigError);
    expect(f).toThrow(message);
  });
});
