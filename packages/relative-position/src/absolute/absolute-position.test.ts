import { expectSameMemory, memoryNow, numbersOf } from '@polyhead/conformance';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type LearnedConfig, learned, type SinusoidalConfig, sinusoidal } from '../index';

const close = (numbers: readonly number[]) => numbers.map((x) => expect.closeTo(x, 6));
const zeros = (B: number, S: number, E: number) => tf.zeros<tf.Rank.R3>([B, S, E]);

describe('sinusoidal', () => {
  it('adds sin and cos of position / 10000^(2i / E), side by side', () => {
    const sum = sinusoidal({ embedDim: 4 }).addTo(tf.ones([1, 2, 4]));
    expect(numbersOf(sum)).toEqual(
      close([1, 2, 1, 2, 1 + Math.sin(1), 1 + Math.cos(1), 1 + Math.sin(0.01), 1 + Math.cos(0.01)]),
    );
  });

  it('puts all sines first where asked, at positions of each batch entry', () => {
    const method = sinusoidal({ embedDim: 4, base: 100, interleaved: false });
    const row = (p: number) => [Math.sin(p), Math.sin(p / 10), Math.cos(p), Math.cos(p / 10)];
    expect(numbersOf(method.addTo(zeros(2, 2, 4), { start: [5, 9] }))).toEqual(
      close([5, 6, 9, 10].flatMap(row)),
    );
    expect(numbersOf(method.addTo(zeros(2, 2, 4), { each: Int32Array.of(7, 3) }))).toEqual(
      close([7, 3, 7, 3].flatMap(row)),
    );
  });

  it('is exact to 1e-6 at position 100,000', () => {
    const [sine, cosine] = numbersOf(sinusoidal({ embedDim: 2 }).addTo(zeros(1, 1, 2), { start: [100_000] }));
    expect(Math.abs(sine! - Math.sin(100_000))).toBeLessThan(1e-6);
    expect(Math.abs(cosine! - Math.cos(100_000))).toBeLessThan(1e-6);
  });

  it.each<[object, RegExp]>([
    [{ embedDim: 3 }, /embedDim must be even/],
    [{ embedDim: 4, base: 1 }, /base must be a number above 1/],
    [{ embedDim: 4, interleaved: 0 }, /interleaved must be true or false/],
    [{ embedDim: 4, length: 8 }, /unknown +\[length\]/],
  ])('refuses %j', (config, message) => {
    expect(() => sinusoidal(config as SinusoidalConfig)).toThrow(message);
  });
});

describe('learned', () => {
  const rows = Array.from({ length: 15 }, (_, n) => n);
  const numbered = () => {
    const method = learned({ embedDim: 3, maxPositions: 5 });
    method.setWeights({ table: tf.tensor2d(rows, [5, 3]) });
    return method;
  };

  it('adds the row of each position', () => {
    const method = numbered();
    expect(numbersOf(method.addTo(zeros(1, 2, 3), { start: [3] }))).toEqual([9, 10, 11, 12, 13, 14]);
    expect(numbersOf(method.addTo(zeros(2, 1, 3), { start: [0, 4] }))).toEqual([0, 1, 2, 12, 13, 14]);
    expect(numbersOf(method.addTo(tf.ones([1, 3, 3]), { each: Int32Array.of(1, 1, 0) }))).toEqual([
      4, 5, 6, 4, 5, 6, 1, 2, 3,
    ]);
    method.dispose();
  });

  it('says where its table ends, naming position and end', () => {
    const method = numbered();
    expect(method.addTo(zeros(1, 5, 3)).shape).toEqual([1, 5, 3]);
    expect(() => method.addTo(zeros(1, 6, 3))).toThrow(
      /learned: positions must be below maxPositions: the table ends there\n +position +5\n +maxPositions +5/,
    );
    expect(() => method.addTo(zeros(1, 1, 3), { start: [5] })).toThrow(/position +5/);
    method.dispose();
  });

  it('gives row 0 to positions below 0, where padding stands', () => {
    const method = numbered();
    expect(numbersOf(method.addTo(zeros(1, 3, 3), { start: [-1] }))).toEqual([0, 1, 2, 0, 1, 2, 3, 4, 5]);
    method.dispose();
  });

  it('sums the gradients of tokens that share a row', () => {
    const method = numbered();
    const { variable } = method.variables[0]!;
    const weights = tf.tensor3d([1, 10, 100, 1000], [2, 2, 1]);
    const { grads } = tf.variableGrads(
      () => tf.sum(tf.mul(method.addTo(zeros(2, 2, 3), { each: Int32Array.of(1, 3, 3, 3) }), weights)),
      [variable],
    );
    const perRow = [0, 1, 0, 1110, 0];
    expect(numbersOf(grads[variable.name]!)).toEqual(perRow.flatMap((x) => [x, x, x]));
    const shared = tf.variableGrads(() => tf.sum(tf.mul(method.addTo(zeros(2, 2, 3)), weights)), [variable]);
    expect(numbersOf(shared.grads[variable.name]!).filter((_, n) => n % 3 === 0)).toEqual([
      101, 1010, 0, 0, 0,
    ]);
    const embeddings = tf.grad((x) => tf.sum(tf.mul(method.addTo(x as tf.Tensor3D), weights)))(
      zeros(2, 2, 3),
    );
    expect(numbersOf(embeddings).filter((_, n) => n % 3 === 0)).toEqual([1, 10, 100, 1000]);
    method.dispose();
  });

  it('leaves its result and nothing else, and nothing once disposed', () => {
    const x = zeros(2, 2, 2);
    const before = memoryNow();
    const methods = [learned({ embedDim: 2, maxPositions: 5 }), sinusoidal({ embedDim: 2 })];
    for (const method of methods) {
      const held = tf.memory().numTensors;
      const sum = method.addTo(x, { start: [0, 1] });
      expect(tf.memory().numTensors).toBe(held + 1);
      sum.dispose();
    }
    for (const method of methods) method.dispose();
    expectSameMemory(before);
  });

  it.each<[object, RegExp]>([
    [{ embedDim: 3, maxPositions: 0 }, /maxPositions must be a whole number above 0/],
    [{ embedDim: 3, maxPositions: 4, seed: 0.5 }, /seed must be a whole number/],
    [{ embedDim: 3, maxPositions: 4, offset: 2 }, /unknown +\[offset\]/],
  ])('refuses %j', (config, message) => {
    expect(() => learned(config as LearnedConfig)).toThrow(message);
  });

  it('refuses embeddings of another width, and positions that do not fit', () => {
    const method = learned({ embedDim: 3, maxPositions: 5 });
    expect(() => method.addTo(zeros(1, 2, 4))).toThrow(/embedDim wide/);
    expect(() => method.addTo(zeros(3, 2, 3), { start: [0, 1] })).toThrow(
      /positions.start must have one number, or one for each batch entry/,
    );
    method.dispose();
  });
});

describe.each([
  ['learned', () => learned({ embedDim: 3, maxPositions: 5 })],
  ['sinusoidal', () => sinusoidal({ embedDim: 4 })],
] as const)('addTo of %s', (_name, create) => {
  it.each<[unknown, RegExp]>([
    [3, /embeddings must be a tensor \[B, S, E\]/],
    [tf.zeros([2, 4]), /embeddings must have rank 3/],
    [tf.zeros([1, 2, 4], 'int32'), /embeddings must be float32/],
  ])('refuses embeddings %#', (embeddings, message) => {
    const method = create();
    expect(() => method.addTo(embeddings as tf.Tensor3D)).toThrow(message);
    method.dispose();
  });

  it.each([{ start: [0.5] }, { start: ['1'] }, { start: 1 }, { each: [0, 1] }, {}, 3])(
    'refuses positions %j',
    (at) => {
      const method = create();
      const { embedDim } = method.config as { embedDim: number };
      expect(() => method.addTo(zeros(1, 2, embedDim), at as never)).toThrow(/positions/);
      method.dispose();
    },
  );
});
