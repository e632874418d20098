// The layers against their formulas in doubles.
import { expectFlatHeap, expectSameMemory, memoryNow, seededRandom } from '@polyhead/conformance';
import { fromConfig } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { Dense, Embedding, FeedForward, LayerNorm, RmsNorm } from '../index';
import { activations } from './activation';
import { dropout } from './dropout';

const numbers = (tensor: tf.Tensor) => [...tensor.dataSync()];
const close = (expected: readonly number[], digits = 5) => expected.map((x) => expect.closeTo(x, digits));
const random = (shape: number[], seed: number): tf.Tensor => {
  const next = seededRandom(seed);
  return tf.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 2 * next() - 1),
    shape,
  );
};

/** Rows [n, in] times a matrix [in, out], in doubles. */
function product(rows: readonly number[], matrix: readonly number[], inner: number): number[] {
  const out = matrix.length / inner;
  return Array.from({ length: (rows.length / inner) * out }, (_, at) => {
    const [row, column] = [Math.floor(at / out), at % out];
    return Array.from({ length: inner }, (_, k) => rows[row * inner + k]! * matrix[k * out + column]!).reduce(
      (a, b) => a + b,
      0,
    );
  });
}

describe('Dense', () => {
  it('is x W + b, for any number of axes', () => {
    const dense = new Dense({ inputDim: 3, outputDim: 4, seed: 1 });
    dense.setWeights({ kernel: random([3, 4], 1), bias: random([4], 2) });
    const { kernel, bias } = dense.getWeights();
    const x = random([2, 5, 3], 3);
    const expected = product(numbers(x), numbers(kernel!), 3).map((y, n) => y + numbers(bias!)[n % 4]!);
    expect(numbers(dense.apply(x))).toEqual(close(expected));
    const rows = dense.apply(tf.reshape(x, [10, 3]));
    expect(rows.shape).toEqual([10, 4]);
    expect(numbers(rows)).toEqual(close(expected));
    dense.dispose();
  });

  it('has the gradients of a product', () => {
    const dense = new Dense({ inputDim: 3, outputDim: 2, useBias: false, seed: 1 });
    const [x, g] = [random([1, 4, 3], 1), random([1, 4, 2], 2)];
    const kernel = dense.variables[0]!.variable;
    const { grads } = tf.variableGrads(() => tf.sum(tf.mul(dense.apply(x), g)), [kernel]);
    const transposed = tf.transpose(tf.reshape(x, [4, 3])); // xᵀ g
    expect(numbers(grads[kernel.name]!)).toEqual(close(product(numbers(transposed), numbers(g), 4)));
    const ofInput = tf.grad((y) => tf.sum(tf.mul(dense.apply(y), g)))(x); // g Wᵀ
    expect(numbers(ofInput)).toEqual(close(product(numbers(g), numbers(tf.transpose(kernel)), 2)));
    dense.dispose();
  });

  it('starts the same by seed and name, and otherwise differs', () => {
    const startOf = (seed: number, name?: string) => {
      const dense = new Dense({ inputDim: 3, outputDim: 4, seed }, { name });
      return numbers(dense.variables[0]!.variable);
    };
    expect(startOf(1, 'a')).toEqual(startOf(1, 'a'));
    expect(startOf(1, 'a')).not.toEqual(startOf(1, 'b'));
    expect(startOf(1, 'a')).not.toEqual(startOf(2, 'a'));
  });

  it('refuses what cannot be', () => {
    expect(() => new Dense({ inputDim: 0, outputDim: 2 })).toThrow(/inputDim must be a whole number above 0/);
    expect(() => new Dense({ inputDim: 2, outputDim: 2, units: 3 } as never)).toThrow(/known options only/);
    const dense = new Dense({ inputDim: 3, outputDim: 2 });
    expect(() => dense.apply(tf.ones([2, 4]))).toThrow(/Dense: x must be \[\.\.\., in\]/);
    expect(() => dense.setWeights({ kernel: tf.ones([2, 3]), bias: tf.ones([2]) })).toThrow(
      /its variable's shape/,
    );
    expect(() => dense.setWeights({ kernel: tf.ones([3, 2]) })).toThrow(/missing +\[bias\]/);
    dense.dispose();
    expect(() => dense.apply(tf.ones([2, 3]))).toThrow(/must not be disposed/);
  });
});

describe('Embedding', () => {
  const ids = () =>
    tf.tensor2d(
      [
        [1, 3, 1],
        [0, 2, 1],
      ],
      undefined,
      'int32',
    );

  it('gives the rows of tokens, and their scores by the same table', () => {
    const embedding = new Embedding({ vocabularySize: 4, embedDim: 2 });
    embedding.setWeights({ table: tf.tensor2d([0, 1, 2, 3, 4, 5, 6, 7], [4, 2]) });
    expect(numbers(embedding.apply(ids()))).toEqual([2, 3, 6, 7, 2, 3, 0, 1, 4, 5, 2, 3]);
    const logits = embedding.logits(tf.tensor3d([1, 10, 2, 0], [1, 2, 2]));
    expect(logits.shape).toEqual([1, 2, 4]);
    expect(numbers(logits)).toEqual([10, 32, 54, 76, 0, 4, 8, 12]);
    embedding.dispose();
  });

  it('trains: the gradients of a token that stands there more than once add up', () => {
    const embedding = new Embedding({ vocabularySize: 4, embedDim: 2, seed: 1 });
    const { variable } = embedding.variables[0]!;
    const g = tf.tensor3d(
      Array.from({ length: 12 }, (_, n) => n),
      [2, 3, 2],
    );
    const { grads } = tf.variableGrads(() => tf.sum(tf.mul(embedding.apply(ids()), g)), [variable]);
    expect(numbers(grads[variable.name]!)).toEqual([6, 7, 14, 17, 8, 9, 2, 3]);
    const x = random([1, 3, 2], 4);
    const h = random([1, 3, 4], 5);
    const tied = tf.variableGrads(() => tf.sum(tf.mul(embedding.logits(x), h)), [variable]);
    const columns = tf.transpose(tf.reshape(h, [3, 4])); // hᵀ x
    expect(numbers(tied.grads[variable.name]!)).toEqual(close(product(numbers(columns), numbers(x), 3)));
    const ofInput = tf.grad((y) => tf.sum(tf.mul(embedding.logits(y), h)))(x); // h table
    expect(numbers(ofInput)).toEqual(close(product(numbers(h), numbers(variable), 4)));
    embedding.dispose();
  });

  it('refuses tokens outside the table, and ids of another type', () => {
    const embedding = new Embedding({ vocabularySize: 4, embedDim: 2 });
    for (const id of [-1, 4])
      expect(() => embedding.apply(tf.tensor2d([[0, id]], undefined, 'int32'))).toThrow(
        /ids must be tokens of the vocabulary/,
      );
    expect(() => embedding.apply(tf.tensor2d([[0, 1]]))).toThrow(/ids must be int32/);
    embedding.dispose();
  });

  it('takes no token', () => {
    const embedding = new Embedding({ vocabularySize: 4, embedDim: 2 });
    expect(embedding.apply(tf.zeros([2, 0], 'int32')).shape).toEqual([2, 0, 2]);
    expect(embedding.logits(tf.zeros([2, 0, 2])).shape).toEqual([2, 0, 4]);
    embedding.dispose();
  });
});

describe('norms', () => {
  const x = [1, 2, 3, 6, -1, 0, 0.5, 2];

  it('LayerNorm is (x - mean) / sqrt(variance + ε) · gain + offset', () => {
    const norm = new LayerNorm({ size: 4, epsilon: 0.5 });
    norm.setWeights({ gain: tf.tensor1d([1, 2, 3, 4]), offset: tf.tensor1d([0, 1, 0, -1]) });
    const expected = [x.slice(0, 4), x.slice(4)].flatMap((row) => {
      const mean = row.reduce((a, b) => a + b, 0) / 4;
      const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / 4;
      return row.map((y, n) => ((y - mean) / Math.sqrt(variance + 0.5)) * (n + 1) + [0, 1, 0, -1][n]!);
    });
    expect(numbers(norm.apply(tf.tensor3d(x, [1, 2, 4])))).toEqual(close(expected));
    norm.dispose();
  });

  it('RmsNorm is x / sqrt(mean(x²) + ε) · gain', () => {
    const norm = new RmsNorm({ size: 4, epsilon: 0.5 });
    norm.setWeights({ gain: tf.tensor1d([1, 2, 3, 4]) });
    const expected = [x.slice(0, 4), x.slice(4)].flatMap((row) => {
      const square = row.reduce((a, b) => a + b * b, 0) / 4;
      return row.map((y, n) => (y / Math.sqrt(square + 0.5)) * (n + 1));
    });
    expect(numbers(norm.apply(tf.tensor3d(x, [1, 2, 4])))).toEqual(close(expected));
    norm.dispose();
  });

  it('start with gains of 1', () => {
    expect(numbers(new LayerNorm({ size: 2 }).variables[0]!.variable)).toEqual([1, 1]);
    expect(numbers(new RmsNorm({ size: 2 }).variables[0]!.variable)).toEqual([1, 1]);
  });
});

/** The error function by its series, in doubles. */
function erf(x: number): number {
  let [sum, term] = [x, x];
  for (let n = 1; n < 60; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const inDoubles: { readonly [name in keyof typeof activations]: (x: number) => number } = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
  geluTanh: (x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
};

describe('FeedForward', () => {
  it.each(Object.keys(activations) as (keyof typeof activations)[])('knows %s', (name) => {
    const x = Array.from({ length: 41 }, (_, n) => (n - 20) / 5);
    expect(numbers(activations[name](tf.tensor1d(x)))).toEqual(close(x.map(inDoubles[name])));
  });

  it.each([false, true])('is two linear maps with a function between them; gated: %s', (gated) => {
    const layer = new FeedForward({ embedDim: 3, hiddenDim: 5, activation: 'silu', gated, seed: 1 });
    const weights = Object.fromEntries(
      Object.entries(layer.getWeights()).map(([name, { shape }], n) => [name, random(shape, n)]),
    );
    layer.setWeights(weights);
    const x = random([2, 2, 3], 9);
    const map = (rows: readonly number[], name: string, inner: number) => {
      const bias = numbers(weights[`${name}/bias`]!);
      return product(rows, numbers(weights[`${name}/kernel`]!), inner).map(
        (y, n) => y + bias[n % bias.length]!,
      );
    };
    const up = map(numbers(x), 'up', 3);
    const hidden = gated
      ? map(numbers(x), 'gate', 3).map((y, n) => inDoubles.silu(y) * up[n]!)
      : up.map(inDoubles.silu);
    expect(numbers(layer.apply(x))).toEqual(close(map(hidden, 'down', 5)));
    layer.dispose();
  });
});

describe('dropout', () => {
  it('draws from its seed, keeps the mean, and does nothing outside training', () => {
    const x = tf.ones([10_000]);
    expect(dropout(x, 0.25, undefined)).toBe(x);
    const [one, same, other] = [1, 1, 2].map((seed) => numbers(dropout(x, 0.25, { seed })));
    expect(one).toEqual(same);
    expect(one).not.toEqual(other);
    expect(new Set(one!.map((y) => y.toFixed(4)))).toEqual(new Set(['0.0000', '1.3333']));
    expect(one!.filter((y) => y === 0).length / 10_000).toBeCloseTo(0.25, 1);
  });
});

describe('every layer', () => {
  const layers = {
    dense: () => new Dense({ inputDim: 4, outputDim: 4, seed: 1 }, { name: 'a' }),
    norm: () => new LayerNorm({ size: 4 }, { name: 'a' }),
    rms: () => new RmsNorm({ size: 4 }, { name: 'a' }),
    forward: () => new FeedForward({ embedDim: 4, hiddenDim: 6, gated: true, seed: 1 }, { name: 'a' }),
  };

  it.each(Object.keys(layers) as (keyof typeof layers)[])(
    '%s leaves its result alone, and is made again from JSON',
    (name) => {
      const before = memoryNow();
      const layer = layers[name]();
      const x = random([1, 3, 4], 1);
      const held = memoryNow();
      const [y, z] = [layer.apply(x), layer.apply(x)];
      const again = fromConfig<typeof layer>(JSON.parse(JSON.stringify(layer)), [
        Dense,
        LayerNorm,
        RmsNorm,
        FeedForward,
      ]);
      expect(again.variables.map((variable) => variable.name)).toEqual(
        layer.variables.map((variable) => variable.name),
      );
      expect(layer.variables.every((variable) => variable.name.startsWith('a/'))).toBe(true);
      const same = again.apply(x);
      expect(numbers(same)).toEqual(numbers(y));
      again.dispose();
      tf.dispose([y, z, same]);
      expectSameMemory(held);
      expectFlatHeap(() => void layer.apply(x), 20);
      layer.dispose();
      layer.dispose();
      x.dispose();
      expectSameMemory(before);
    },
  );
});
