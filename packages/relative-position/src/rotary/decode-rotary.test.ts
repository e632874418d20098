// Rotary frequencies that depend on the length: each decode step turns by those of its own length, and keys in a cache
// keep those of the step that made them, as in transformers. So a step is compared with the formula, not with one pass.
import { expectClose, toHost } from '@polyhead/conformance';
import { causal, type PositionMethod, splitHeads } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type RotaryScaling, rotary } from '../index';
import { scaledFrequencies } from './frequencies';

const [E, Hq, Hkv, D, S] = [6, 4, 2, 4, 9];
const base = { base: 10_000, rotaryDim: D };

/** A head's numbers at a position, turned as in a call of this length. */
function turned(x: readonly number[], position: number, scaling: RotaryScaling, length: number): number[] {
  const { perPosition, factor } = scaledFrequencies(base, scaling, length);
  const result = [...x];
  perPosition.forEach((frequency, pair) => {
    const [one, other] = [x[pair]!, x[pair + D / 2]!];
    const [cos, sin] = [factor * Math.cos(position * frequency), factor * Math.sin(position * frequency)];
    result[pair] = one * cos - other * sin;
    result[pair + D / 2] = other * cos + one * sin;
  });
  return result;
}

function heads(layer: GroupedQueryAttention, name: string, x: tf.Tensor3D, H: number): number[][][] {
  const kernel = layer.getWeights()[`${name}/kernel`] as tf.Tensor2D;
  const projected = tf.reshape(tf.matMul(tf.reshape(x, [S, E]), kernel), [1, S, H * D]) as tf.Tensor3D;
  return (splitHeads(projected, H).arraySync() as number[][][][])[0]!;
}

/** The heads' outputs of every step, by the formula: [Hq, S, D]. */
function byFormula(
  layer: GroupedQueryAttention,
  x: tf.Tensor3D,
  scaling: RotaryScaling,
  prefill: number,
): number[] {
  const [q, k, v] = [
    heads(layer, 'query', x, Hq),
    heads(layer, 'key', x, Hkv),
    heads(layer, 'value', x, Hkv),
  ];
  const lengthAt = (token: number) => Math.max(prefill, token + 1); // of the call that the token came in
  return q.flatMap((rows, h) =>
    rows.flatMap((row, i) => {
      const g = Math.floor((h * Hkv) / Hq);
      const query = turned(row, i, scaling, lengthAt(i));
      const scores = Array.from({ length: i + 1 }, (_, j) => {
        const key = turned(k[g]![j]!, j, scaling, lengthAt(j));
        return query.reduce((sum, a, d) => sum + a * key[d]!, 0) / Math.sqrt(D);
      });
      const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
      return Array.from({ length: D }, (_, d) =>
        scores.reduce((sum, score, j) => sum + (Math.exp(score) / total) * v[g]![j]![d]!, 0),
      );
    }),
  );
}

function decoded(layer: GroupedQueryAttention, x: tf.Tensor3D, prefill: number): tf.Tensor {
  const cache = new GrowingCache(layer.cacheShape(1));
  const chunks = [prefill, ...Array<number>(S - prefill).fill(1)];
  let at = 0;
  const parts = chunks.map((size) => {
    const query = tf.slice(x, [0, at, 0], [1, size, E]);
    at += size;
    return layer.apply({ query }, { mask: causal(), cache, returns: ['headOutputs'] }).headOutputs!;
  });
  cache.dispose();
  return tf.concat(parts, 2);
}

const scalings: [string, RotaryScaling][] = [
  ['dynamic', { type: 'dynamic', factor: 2, originalLength: 4 }],
  [
    'longrope',
    { type: 'longrope', factor: 3, originalLength: 5, shortFactors: [1, 1.5], longFactors: [1.25, 4] },
  ],
];

describe.each(scalings)('rotary, scaling %s', (_, scaling) => {
  const layerWith = (position: PositionMethod) =>
    new GroupedQueryAttention(
      { embedDim: E, numHeads: Hq, numKeyValueHeads: Hkv, headDim: D, seed: 2 },
      { position },
    );
  const tokens = () => tf.randomNormal<tf.Rank.R3>([1, S, E], 0, 2, 'float32', 7);

  it.each([1, 3, 6])('decodes what the formula gives step by step, after a prompt of %i', (prefill) => {
    const layer = layerWith(rotary({ headDim: D, scaling }));
    const expected = byFormula(layer, tokens(), scaling, prefill);
    expectClose({
      actual: { headOutputs: toHost(decoded(layer, tokens(), prefill)) },
      expected: { headOutputs: Float64Array.from(expected) },
    });
    layer.dispose();
  });

  it('is another than that of one pass, which turns all tokens alike', () => {
    const layer = layerWith(rotary({ headDim: D, scaling }));
    const { headOutputs } = layer.apply({ query: tokens() }, { mask: causal(), returns: ['headOutputs'] });
    const difference = tf.max(tf.abs(tf.sub(headOutputs!, decoded(layer, tokens(), 1))));
    expect(difference.dataSync()[0]).toBeGreaterThan(1e-3);
    expectClose({
      actual: { headOutputs: toHost(headOutputs!) },
      expected: { headOutputs: Float64Array.from(byFormula(layer, tokens(), scaling, S)) },
    });
    layer.dispose();
  });
});

it('sections: a prompt with an image, whose patches have three positions each, then text of one', () => {
  const position = rotary({ headDim: 12, sections: [2, 2, 2] });
  const layer = new GroupedQueryAttention(
    { embedDim: 8, numHeads: 2, numKeyValueHeads: 1, headDim: 12, seed: 4 },
    { position },
  );
  const query = tf.randomNormal<tf.Rank.R3>([1, 8, 8], 0, 1, 'float32', 5);
  // Two tokens of text, an image of 2 x 2, two of text that go on behind its largest position.
  const places = [
    [0, 1, 2, 2, 2, 2, 4, 5],
    [0, 1, 2, 2, 3, 3, 4, 5],
    [0, 1, 2, 3, 2, 3, 4, 5],
  ];
  const upTo = (end: number) => places.map((of) => ({ each: Int32Array.from(of.slice(0, end)) }));
  const whole = layer.apply({ query }, { mask: causal(), positions: upTo(8) }).output;
  const cache = new GrowingCache(layer.cacheShape(1));
  const chunk = (from: number, size: number) => tf.slice(query, [0, from, 0], [1, size, 8]);
  const outputs = [
    layer.apply({ query: chunk(0, 6) }, { mask: causal(), cache, positions: upTo(6) }).output,
    layer.apply({ query: chunk(6, 1) }, { mask: causal(), cache, positions: [{ start: [4] }] }).output,
    layer.apply({ query: chunk(7, 1) }, { mask: causal(), cache }).output,
  ];
  expectClose({ actual: { output: toHost(tf.concat(outputs, 1)) }, expected: { output: toHost(whole) } });
  cache.dispose();
  layer.dispose();
});
