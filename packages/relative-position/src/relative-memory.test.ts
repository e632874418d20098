// H10: no tensor of queries x keys x D, at S = 1024 and D = 64, for any method that gives vectors for distances.
import { bytesDuring } from '@polyhead/conformance';
import { causal, composed, type PositionMethod } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { bertRelative, shaw } from './index';

const [S, D] = [1024, 64];
const vectors = S * S * D * 4; // 268,435,456 bytes: a vector for each pair
const pairs = S * S * 4; // a number for each pair

const random = (seed: number) => tf.randomNormal<tf.Rank.R4>([1, 1, S, D], 0, 1, 'float32', seed);

function bytesOf(position: PositionMethod, pass: 'one pass' | 'gradient') {
  const [query, key, value] = [random(1), random(2), random(3)];
  const output = (q: tf.Tensor4D) =>
    attendHeads({ query: q, key, value, cross: false, kernel: composed(), position, mask: causal() }).output;
  const gradient = () => tf.grad((x) => tf.sum(output(x as tf.Tensor4D)))(query);
  const bytes = bytesDuring(() => (pass === 'gradient' ? gradient() : output(query)));
  position.dispose();
  return bytes;
}

describe('H10: vectors for distances', () => {
  beforeEach(({ skip }) =>
    skip(tf.getBackend() === 'cpu', 'operations hold the same elsewhere, and are faster'),
  );

  it.each<[string, () => PositionMethod]>([
    ['shaw, keys', () => shaw({ headDim: D })],
    ['shaw, keys and values', () => shaw({ headDim: D, valueTable: 'own' })],
  ])('take less than a tenth of the vectors of all pairs: %s', (_, create) => {
    const onePass = bytesOf(create(), 'one pass');
    expect(onePass.peak).toBeLessThan(vectors / 10);
    expect(onePass.largest).toBeLessThanOrEqual(pairs);
    const gradient = bytesOf(create(), 'gradient');
    expect(gradient.peak).toBeLessThan(vectors / 10);
    expect(gradient.largest).toBeLessThanOrEqual(pairs);
  });

  // One row for each distance there is: as many numbers as two tokens of each pair.
  it('are as many as distances where none is clipped: bertRelative, relative_key_query', () => {
    const position = bertRelative({ headDim: D, maxPositions: S, type: 'relative_key_query' });
    const { peak, largest } = bytesOf(position, 'one pass');
    expect(largest).toBeLessThanOrEqual(2 * pairs);
    expect(peak).toBeLessThan(vectors / 6);
  });
});
