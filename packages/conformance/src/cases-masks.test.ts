// Masks and softmax: small inputs from public bug reports, with answers known by heart.
import {
  type AttendOptions,
  allOf,
  attend,
  causal,
  composed,
  dense,
  predicate,
  scaledDotProductAttention,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { randomTensor, seededRandom, tabulate } from './inputs';
import { toHost, toTensor } from './kernel-run';
import { expectNumbers, numbersOf, type Scene, withScores, zeroScores } from './scene';
import { maxError } from './tolerance';

const bool = (rows: readonly (readonly number[])[]) =>
  dense(tf.tensor2d(rows.flat(), [rows.length, rows[0]!.length], 'bool'));

const outputOf = (scene: Scene, options: AttendOptions) => attend(composed(), scene, options).output;
const weightsOf = (scene: Scene, options: AttendOptions) =>
  attend(composed(), scene, { ...options, returns: ['weights'] }).weights!;

function gradientsOf(scene: Scene, options: AttendOptions): tf.Tensor[] {
  const loss = (query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) =>
    tf.sum(tf.square(outputOf({ query, key, value } as Scene, options)));
  return tf.grads(loss)([scene.query, scene.key, scene.value]);
}

const expectSame = (one: tf.Tensor, other: tf.Tensor) =>
  expect(maxError(toHost(one), toHost(other))).toBeLessThan(1e-6);

describe('A1: a query that sees no key', () => {
  const scene = () => zeroScores(2, [1, 3]);
  const mask = () =>
    bool([
      [0, 0],
      [1, 1],
    ]);

  it('gives output 0 and weights 0, and leaves other rows alone', () => {
    expectNumbers(outputOf(scene(), { mask: mask() }), [0, 2]);
    expectNumbers(weightsOf(scene(), { mask: mask() }), [0, 0, 0.5, 0.5]);
  });

  it('has gradients of 0, and no NaN', () => {
    const [query, key, value] = gradientsOf(scene(), { mask: mask() });
    expectNumbers(query!, [0, 0]);
    expectNumbers(key!, [0, 0]);
    expectNumbers(value!, [2, 2]); // d (v1/2 + v2/2)² / dv = 2 · 2 · 1/2
  });
});

describe('A3: returning weights', () => {
  it.each([{}, { dropout: { rate: 0, seed: 1 } }])('does not change the output, with %o', (options) => {
    const mask = bool([
      [0, 0],
      [1, 1],
    ]);
    const plain = outputOf(zeroScores(2, [1, 3]), { ...options, mask });
    const { output } = attend(composed(), zeroScores(2, [1, 3]), {
      ...options,
      mask,
      returns: ['weights', 'logSumExp'],
    });
    expect(numbersOf(output)).toEqual(numbersOf(plain));
  });
});

describe('A5: a hidden key or value', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('of %s stays out', (poison) => {
    const mask = bool([[1, 0]]);
    const scene = {
      ...withScores([[0.5, 1]], [5, poison]),
      key: tf.tensor4d([1, 0, poison, poison], [1, 1, 2, 2]),
    };
    expect(numbersOf(outputOf(scene, { mask }))).toEqual([5]);
    const [query, key, value] = gradientsOf(scene, { mask });
    expectNumbers(query!, [0, 0]);
    expectNumbers(key!, [0, 0, 0, 0]);
    expectNumbers(value!, [10, 0]);
  });
});

describe('scores far from 0', () => {
  it('A6: a hidden score of 0 does not beat a visible one of -20000', () => {
    const mask = bool([[1, 0]]);
    expectNumbers(outputOf(withScores([[-20000, 0]], [7, -7]), { scale: 1, mask }), [7]);
  });

  it('A7: a row of -60000 is averaged like any other', () => {
    expectNumbers(outputOf(withScores([[-60000, -60000, -60000]], [1, 2, 3]), { scale: 1 }), [2]);
  });

  it('A19: one visible score has weight 1 beside sixty hidden ones', () => {
    const hidden = Array<number>(60).fill(0);
    const scene = withScores([[-0.03, ...hidden]], [4, ...hidden]);
    expect(numbersOf(weightsOf(scene, { scale: 1, mask: bool([[1, ...hidden]]) }))).toEqual([1, ...hidden]);
  });
});

describe('A8: a pair hidden twice', () => {
  const padding = () =>
    bool([
      [1, 0, 1],
      [1, 0, 1],
      [1, 0, 1],
    ]);
  const scene = () => zeroScores(3, [1, 2, 4]);

  it('by two masks is hidden once', () => {
    expectNumbers(outputOf(scene(), { mask: allOf(causal(), padding()) }), [1, 1, 2.5]);
  });

  it('by a mask and the bias is hidden once, and no -Infinity is left', () => {
    for (const low of [Number.NEGATIVE_INFINITY, -3.4e38]) {
      const bias = tf.tensor4d([0, low, 0], [1, 1, 1, 3]);
      const { output, logSumExp } = attend(composed(), scene(), {
        mask: causal(),
        bias,
        returns: ['logSumExp'],
      });
      expectNumbers(output, [1, 1, 2.5]);
      expectNumbers(logSumExp!, [0, 0, Math.log(2)]);
    }
  });
});

describe('bool masks and numbers', () => {
  const bias = (hidden: number) => tf.tensor4d([0, hidden], [1, 1, 1, 2]);

  it('A10: a bool mask, a bias of -Infinity and one of -1e9 hide the same', () => {
    const scene = withScores([[0.3, 2]], [5, 9]);
    for (const options of [
      { mask: bool([[1, 0]]) },
      { bias: bias(Number.NEGATIVE_INFINITY) },
      { bias: bias(-1e9) },
    ]) {
      expectNumbers(outputOf(scene, { scale: 1, ...options }), [5]);
    }
  });

  it('A11: numbers are added, never taken for a mask', () => {
    expectNumbers(
      weightsOf(zeroScores(1, [1, 2]), { bias: tf.tensor4d([1, 0], [1, 1, 1, 2]) }),
      [0.7310586, 0.2689414],
    );
    expect(() => dense(tf.tensor2d([[1, 0]]))).toThrow(/bias/);
  });

  it('A12: true shows and false hides, whoever is asked', () => {
    const scene = zeroScores(1, [5, 9]);
    const shown = [
      bool([[1, 0]]),
      dense(tf.tensor2d([[1, 0]], [1, 2], 'int32')),
      predicate((_b, _h, _query, key) => key === 0),
      validLengths([1]),
      causal(),
    ];
    for (const mask of shown) {
      const queryStart = 0;
      expectNumbers(outputOf(scene, { mask, queryStart }), [5]);
      expectNumbers(
        scaledDotProductAttention(scene.query, scene.key, scene.value, { mask, queryStart }).output,
        [5],
      );
    }
  });
});

describe('masks that hold more than 0 and 1', () => {
  // On wasm a cast to bool keeps the numbers as they are.
  it.each(['bool', 'int32'] as const)('show wherever a %s mask is not 0', (dtype) => {
    const mask = dense(tf.cast(tf.tensor2d([[0, 1, 2, 7]]), dtype));
    expectNumbers(outputOf(zeroScores(1, [9, 1, 2, 6]), { mask }), [3]);
  });
});

describe('shapes of masks', () => {
  const sizes = { B: 2, H: 3, Sq: 4, Skv: 5 };
  const random = (shape: number[], seed: number) =>
    toTensor(randomTensor(shape, seededRandom(seed))) as tf.Tensor4D;
  const scene = (): Scene => ({
    query: random([2, 3, 4, 2], 1),
    key: random([2, 3, 5, 2], 2),
    value: random([2, 3, 5, 2], 3),
  });

  it.each(
    Array.from({ length: 16 }, (_, n) =>
      ['B', 'H', 'Sq', 'Skv'].map((axis, m) => ((n >> m) % 2 ? axis : '1')),
    ),
  )('A13: [%s, %s, %s, %s] broadcasts to [B, H, Sq, Skv]', (...axes) => {
    const shape = axes.map((axis) => (axis === '1' ? 1 : sizes[axis as keyof typeof sizes]));
    const narrow = tf.cast(
      toTensor(tabulate(shape, (b, h, i, j) => Math.min(1, (b + h + i + 2 * j) % 3))),
      'bool',
    );
    const wide = tf.logicalAnd(narrow, tf.ones([2, 3, 4, 5], 'bool'));
    expectSame(outputOf(scene(), { mask: dense(narrow) }), outputOf(scene(), { mask: dense(wide) }));
  });

  it('A13: [Sq, Skv] is [1, 1, Sq, Skv]', () => {
    const square = tf.cast(toTensor(tabulate([4, 5], (i, j) => (i + j) % 2)), 'bool');
    const asFour = tf.reshape(square, [1, 1, 4, 5]);
    expectSame(outputOf(scene(), { mask: dense(square) }), outputOf(scene(), { mask: dense(asFour) }));
  });

  it('A14: lengths hide keys, not queries', () => {
    const twice = (x: tf.Tensor4D) => tf.concat([x, x], 0);
    const { query, key, value } = zeroScores(2, [1, 3]);
    const scene = { query: twice(query), key: twice(key), value: twice(value) };
    expectNumbers(outputOf(scene, { mask: validLengths([1, 2]) }), [1, 1, 2, 2]);
  });

  it('A15: rank 2 is [Sq, Skv], whatever the batch; rank 3 is refused', () => {
    const rows = [
      [1, 0],
      [1, 1],
    ];
    for (const B of [1, 2, 3]) {
      const tiled = (x: tf.Tensor4D) => tf.tile(x, [B, 1, 1, 1]);
      const { query, key, value } = zeroScores(2, [1, 3]);
      const scene = { query: tiled(query), key: tiled(key), value: tiled(value) };
      expectNumbers(outputOf(scene, { mask: bool(rows) }), Array<number[]>(B).fill([1, 2]).flat());
    }
    expect(() => dense(tf.ones([2, 2, 2], 'bool'))).toThrow(/rank 4/);
  });
});

describe('a causal mask', () => {
  it('A17: stands beside another mask', () => {
    const hidden = bool([
      [0, 1, 1],
      [0, 1, 1],
      [0, 1, 1],
    ]);
    expectNumbers(outputOf(zeroScores(3, [1, 2, 4]), { mask: allOf(causal(), hidden) }), [0, 2, 3]);
  });

  it.each<AttendOptions & { readonly withBias?: boolean }>([
    {},
    { returns: ['weights', 'logSumExp'] },
    { dropout: { rate: 0, seed: 1 } },
    { softcap: 3 },
    { scale: 0.1 },
    { withBias: true },
  ])('A18: survives %o', ({ withBias = false, ...rest }) => {
    const options = { ...rest, ...(withBias && { bias: tf.zeros<tf.Rank.R4>([1, 1, 1, 1]) }) };
    const scene = withScores(tf.eye(4).arraySync(), [1, 2, 3, 4]);
    const beside = dense(tf.ones([4, 4], 'bool'));
    for (const mask of [causal(), allOf(causal(), beside)]) {
      expect(numbersOf(outputOf(scene, { ...options, mask }))[0]).toBe(1);
    }
    const [query, key, value] = [scene.query, scene.key, scene.value].map((x) =>
      tf.squeeze<tf.Tensor3D>(x, [1]),
    );
    const { returns: _, ...own } = options; // it returns output and weights
    const { output } = scaledDotProductAttention(query!, key!, value!, { ...own, mask: causal() });
    expect(numbersOf(output)[0]).toBe(1);
  });
});

describe('A22: softmax', () => {
  it('runs along the keys: rows sum to 1, or to 0 where nothing is seen', () => {
    const random = (shape: number[], seed: number) =>
      toTensor(randomTensor(shape, seededRandom(seed))) as tf.Tensor4D;
    const scene = {
      query: random([2, 3, 4, 5], 1),
      key: random([2, 3, 6, 5], 2),
      value: random([2, 3, 6, 1], 3),
    };
    const sums = tf.sum(weightsOf(scene, { mask: validLengths([4, 0]) }), 3);
    expectNumbers(sums, [...Array<number>(12).fill(1), ...Array<number>(12).fill(0)]);
  });
});
