// A position method that uses both ways at once: it turns heads by position, and adds a bias by distance.
import type { PositionMethod, TokenPositions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';

/** Rotary in its simplest form (Su et al. 2021, 2104.09864), one angle for a head, and an ALiBi-like bias. */
export function samplePositions(numHeads: number): PositionMethod {
  return {
    config: {},
    variables: [],
    rotate(heads, _role, at) {
      const [, , S, D] = heads.shape;
      const angles = tf.mul(anglesOf(at[0]!, S), 0.3); // [1 | B, 1, S, 1]
      const [x, y] = tf.split(heads, [Math.floor(D / 2), Math.ceil(D / 2)], 3) as [tf.Tensor4D, tf.Tensor4D];
      const pairs = tf.slice(y, [0, 0, 0, 0], [-1, -1, -1, x.shape[3]]);
      const rest = tf.slice(y, [0, 0, 0, x.shape[3]], [-1, -1, -1, -1]);
      const [cos, sin] = [tf.cos(angles), tf.sin(angles)];
      const turnedX = tf.sub(tf.mul(x, cos), tf.mul(pairs, sin));
      const turnedY = tf.add(tf.mul(x, sin), tf.mul(pairs, cos));
      return tf.concat([turnedX, turnedY, rest] as tf.Tensor4D[], 3);
    },
    tables(_query, [from, to]) {
      const slopes = Array.from({ length: numHeads }, (_, h) => 0.1 * (h + 1));
      const bias = slopes.map((slope) =>
        Array.from({ length: to - from }, (_, r) => -slope * Math.abs(from + r)),
      );
      return { bias: { table: tf.tensor2d(bias), index: { from } } };
    },
    dispose: () => {},
  };
}

function anglesOf(positions: TokenPositions, S: number): tf.Tensor4D {
  const numbers = positions.each
    ? [...positions.each]
    : positions.start.flatMap((start) => Array.from({ length: S }, (_, i) => start + i));
  return tf.tensor4d(numbers, [numbers.length / S, 1, S, 1]);
}
