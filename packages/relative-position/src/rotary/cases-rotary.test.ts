// Known traps of rotary positions.
import { expectClose, numbersOf, toHost } from '@polyhead/conformance';
import { allOf, causal, composed, fromSequenceMajor, leftPadding, segments } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type RotaryConfig, rotary, toHalfSplitPairs, toInterleavedPairs } from '../index';

/** One head of one token, turned as one that stands at this position. */
function turned(x: readonly number[], position: number, config: Partial<RotaryConfig> = {}): number[] {
  const method = rotary({ headDim: x.length, ...config });
  const heads = tf.tensor4d([...x], [1, 1, 1, x.length]);
  return numbersOf(method.rotate!(heads, 'query', [{ start: [position] }]));
}

const close = (numbers: readonly number[]) => numbers.map((x) => expect.closeTo(x, 5));
const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, a, i) => sum + a * y[i]!, 0);

const config = { embedDim: 12, numHeads: 4, numKeyValueHeads: 2, headDim: 6, seed: 3 };
const layer = () => new GroupedQueryAttention(config, { position: rotary({ headDim: 6 }) });
const tokens = (B: number, S: number) => tf.randomNormal<tf.Rank.R3>([B, S, 12], 0, 1, 'float32', 5);

describe('rotary', () => {
  it('E1: turns the pairs (i, i + D / 2)', () => {
    expect(turned([1, 2, 3, 4], 1)).toEqual(close([-1.9841106, 1.9599007, 2.4623779, 4.0197997]));
  });

  it('E2: turns the pairs (2i, 2i + 1) where they are interleaved', () => {
    expect(turned([1, 2, 3, 4], 1, { interleaved: true })).toEqual(
      close([-1.1426397, 1.9220756, 2.9598507, 4.0297995]),
    );
  });

  it('E3: the two pairings agree up to an order of the numbers', () => {
    const x = tf.tensor1d([1, 2, 3, 4]);
    const halves = turned(numbersOf(toHalfSplitPairs(x, { numHeads: 1 })), 1);
    const back = toInterleavedPairs(tf.tensor1d(halves), { numHeads: 1 });
    expect(numbersOf(back)).toEqual(close(turned([1, 2, 3, 4], 1, { interleaved: true })));
  });

  it('E4: changes nothing at position 0', () => {
    expect(turned([1, 2, 3, 4], 0)).toEqual([1, 2, 3, 4]);
    expect(turned([1, 2, 3, 4], 2)).toEqual(close([-3.1440391, 1.9196053, -0.3391431, 4.0391974]));
  });

  it.each([false, true])(
    'E5: products depend on distances alone, and norms stay: interleaved %s',
    (interleaved) => {
      const [x, y] = [
        [1, 2, 3, 4],
        [1, 0, 0, 0],
      ];
      const product = (p: number, q: number) =>
        dot(turned(x, p, { interleaved }), turned(y, q, { interleaved }));
      expect(product(5, 3)).toBeCloseTo(product(7, 5), 5);
      if (!interleaved) expect(product(5, 3)).toBeCloseTo(-3.1440391, 5);
      expect(dot(turned(x, 9, { interleaved }), turned(x, 9, { interleaved }))).toBeCloseTo(30, 4);
    },
  );

  it('E6: turns the first rotaryDim numbers, at frequencies of their own', () => {
    const [first, rest] = [turned([1, 2, 3, 4], 1), [5, 6, 7, 8]];
    expect(turned([1, 2, 3, 4, 5, 6, 7, 8], 1, { rotaryDim: 4 })).toEqual(close([...first, ...rest]));
  });

  it('E7: refuses an odd rotaryDim, and one larger than a head', () => {
    for (const rotaryDim of [3, 6]) {
      expect(() => rotary({ headDim: 4, rotaryDim })).toThrow(
        new RegExp(`rotaryDim must be even, and at most headDim\\n +rotaryDim +${rotaryDim}\\n +headDim +4`),
      );
    }
    expect(() => rotary({ headDim: 5 })).toThrow(/rotaryDim must be even/);
    expect(() => rotary({ headDim: 2 ** 26 })).toThrow(/headDim must be at most 1048576/);
  });

  it.each([
    [[4, 1, 1]],
    [[2, 2, 2]],
    [[1, 1, 1, 1, 1, 1]],
    [[3, 3]], // E9: the second chunk starts at position 3, not 6
  ])('E8, E9: chunks of %j with a cache give what one pass gives', (chunks) => {
    const attention = layer();
    const x = tokens(2, 6);
    const cache = new GrowingCache(attention.cacheShape(2));
    let at = 0;
    const outputs = chunks.map((size) => {
      const query = tf.slice(x, [0, at, 0], [-1, size, -1]);
      at += size;
      return attention.apply({ query }, { mask: causal(), cache }).output;
    });
    const { output } = attention.apply({ query: x }, { mask: causal() });
    expectClose({ actual: { output: toHost(tf.concat(outputs, 1)) }, expected: { output: toHost(output) } });
    expect(cache.nextPosition).toEqual([6, 6]);
    cache.dispose();
    attention.dispose();
  });

  it.each([
    ['from before 0', [{ start: [-2] }]],
    ['one by one', [{ each: Int32Array.of(1, 1, 0, 1, 2) }]],
  ])('E11: with left padding, positions %s, tokens give what they give alone', (_, positions) => {
    const attention = layer();
    const x = tokens(1, 5);
    const mask = allOf(causal(), leftPadding([2]));
    const padded = tf.slice(attention.apply({ query: x }, { mask, positions }).output, [0, 2, 0], [1, 3, 12]);
    const alone = attention.apply({ query: tf.slice(x, [0, 2, 0], [1, 3, 12]) }, { mask: causal() }).output;
    expectClose({ actual: { output: toHost(padded) }, expected: { output: toHost(alone) } });
    attention.dispose();
  });

  it('E11: packed sequences, each counted from 0, give what each gives alone', () => {
    const attention = layer();
    const x = tokens(1, 5);
    const call = {
      mask: allOf(causal(), segments([[0, 0, 0, 1, 1]])),
      positions: [{ each: Int32Array.of(0, 1, 2, 0, 1) }],
    };
    const packed = attention.apply({ query: x }, call).output;
    const alone = [
      [0, 3],
      [3, 2],
    ].map(
      ([from, size]) =>
        attention.apply({ query: tf.slice(x, [0, from!, 0], [1, size!, 12]) }, { mask: causal() }).output,
    );
    expectClose({ actual: { output: toHost(packed) }, expected: { output: toHost(tf.concat(alone, 1)) } });
    attention.dispose();
  });

  it.each([
    [256, 257],
    [2048, 2049],
    [100_000, 100_001],
  ])('E13: positions %i and %i stay distinct', (one, other) => {
    const difference = Math.abs(turned([1, 2, 3, 4], one)[0]! - turned([1, 2, 3, 4], other)[0]!);
    expect(difference).toBeGreaterThan(0.1);
  });

  it('E14: linear scaling by 4 puts position 8 where position 2 was', () => {
    const scaling = { type: 'linear', factor: 4 } as const;
    expect(turned([1, 2, 3, 4], 8, { scaling })).toEqual(turned([1, 2, 3, 4], 2));
    expect(turned([1, 2, 3, 4], 8, { scaling: { type: 'linear', factor: 1 } })).toEqual(
      turned([1, 2, 3, 4], 8),
    );
  });

  it('E16: has no length that it was made for', () => {
    expect(turned([1, 0], 2 ** 24)[0]).toBeCloseTo(Math.cos(2 ** 24), 6);
  });

  it('E17: leaves values alone', () => {
    const [query, key] = [1, 2].map((seed) =>
      tf.randomNormal<tf.Rank.R4>([1, 2, 5, 4], 0, 1, 'float32', seed),
    );
    const { output } = attendHeads({
      query: query!,
      key: key!,
      value: tf.fill([1, 2, 5, 4], 7),
      cross: false,
      kernel: composed(),
      position: rotary({ headDim: 4 }),
    });
    expect(numbersOf(output)).toEqual(close(Array(40).fill(7)));
  });

  it('E18: turns along time, whichever layout heads come from', () => {
    const [S, H, D] = [3, 2, 4];
    const same = tf.add<tf.Tensor4D>(tf.zeros([1, S, H, D]), tf.tensor1d([1, 2, 3, 4]));
    for (const heads of [fromSequenceMajor(same), tf.reshape(same, [1, H, S, D]) as tf.Tensor4D]) {
      const rows = rotary({ headDim: D }).rotate!(heads, 'key', [{ start: [0] }]);
      const expected = [0, 1, 2].flatMap((position) => turned([1, 2, 3, 4], position));
      expect(numbersOf(rows)).toEqual(close([...expected, ...expected]));
    }
  });
});
