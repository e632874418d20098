// Known traps of Transformer-XL's positions.
import { expectClose, expectFlatHeap, numbersOf, toHost, tokenByToken } from '@polyhead/conformance';
import { causal, composed, splitHeads } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { sinusoids } from './absolute/sinusoidal';
import { type TransformerXLConfig, transformerXL } from './index';

const [E, numHeads, headDim] = [8, 2, 4];
const random = (shape: [number, number, number], seed: number) =>
  tf.randomNormal<tf.Rank.R3>(shape, 0, 1, 'float32', seed);

function layerWith(options: Partial<TransformerXLConfig> = {}) {
  const position = transformerXL({ numHeads, headDim, seed: 5, ...options });
  const layer = new MultiHeadAttention({ embedDim: E, numHeads, seed: 3 }, { position });
  return {
    layer,
    position,
    dispose() {
      layer.dispose();
      position.dispose();
    },
  };
}

/** The original's way: a column of zeros in front, read as rows one longer, the first row dropped. */
function shifted(rows: readonly (readonly number[])[]): number[][] {
  const [Sq, Skv] = [rows.length, rows[0]!.length];
  const padded = rows.flatMap((row) => [0, ...row]).slice(Sq);
  return Array.from({ length: Sq }, (_, i) => padded.slice(i * Skv, (i + 1) * Skv));
}

function softmax(row: readonly number[]): number[] {
  const sum = row.reduce((total, x) => total + Math.exp(x), 0);
  return row.map((x) => Math.exp(x) / sum);
}

const visible = (rows: readonly (readonly number[])[]) =>
  rows.map((row, i) => row.slice(0, row.length - rows.length + i + 1));

describe('transformerXL', () => {
  // A unit vector for each distance, farthest first: products with the rows of a matrix as queries are its numbers.
  it.each<[string, number[][], number[][]]>([
    [
      'H1',
      [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
      ],
      [[3], [5, 6], [7, 8, 9]],
    ],
    [
      'H2, with a memory of 2',
      [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
      [
        [2, 3, 4],
        [5, 6, 7, 8],
      ],
    ],
  ])('%s: a distance finds what the shift of the original finds', (_, matrix, expected) => {
    expect(visible(shifted(matrix))).toEqual(expected);
    const [Sq, Skv] = [matrix.length, matrix[0]!.length];
    const own = tf.tensor4d([[matrix]]);
    const { weights } = attendHeads({
      query: tf.zeros([1, 1, Sq, Skv]),
      key: tf.zeros([1, 1, Skv, Skv]),
      value: tf.zeros([1, 1, Skv, Skv]),
      cross: true,
      kernel: composed(),
      scale: 1,
      mask: causal(),
      returns: ['weights'],
      position: {
        config: {},
        variables: [],
        tables: () => ({
          keys: { table: tf.expandDims(tf.eye(Skv), 0), index: { from: 1 - Skv }, query: own },
        }),
        dispose() {},
      },
    });
    const rows = expected.map((row) => [...softmax(row), ...Array<number>(Skv - row.length).fill(0)]);
    expect(numbersOf(weights!)).toEqual(rows.flat().map((x) => expect.closeTo(x, 5)));
  });

  it.each([0, 2])('equals the shift of the original, with a memory of %i', (memory) => {
    const { layer, position, dispose } = layerWith();
    const [Sq, Skv] = [4, 4 + memory];
    const key = random([1, Skv, E], 1);
    const query = tf.slice(key, [0, memory, 0], [1, Sq, E]);
    const { weights } = layer.apply({ query, key }, { mask: causal(), returns: ['weights'] });

    const { contentBias, positionBias, kernel } = position.getWeights();
    const heads = (name: string, x: tf.Tensor3D) =>
      splitHeads(
        tf.reshape(tf.matMul(tf.squeeze(x, [0]), layer.getWeights()[`${name}/kernel`]!), [1, -1, E]),
        numHeads,
      );
    const biased = (bias: tf.Tensor) =>
      tf.add(heads('query', query), tf.reshape(bias, [1, numHeads, 1, headDim]));
    const farthestFirst = Array.from({ length: Skv }, (__, r) => Skv - 1 - r);
    const vectors = tf.matMul(
      tf.tensor2d(sinusoids(farthestFirst, E, { interleaved: false }), [Skv, E]),
      kernel!,
    );
    const byContent = tf
      .matMul(biased(contentBias!), heads('key', key), false, true)
      .arraySync() as number[][][][];
    const byPosition = tf.matMul(
      biased(positionBias!),
      splitHeads(tf.reshape(vectors, [1, Skv, E]), numHeads),
      false,
      true,
    );
    const expected = (byPosition.arraySync() as number[][][][])[0]!.flatMap((matrix, h) =>
      visible(shifted(matrix)).flatMap((row, i) => {
        const scores = row.map((x, j) => (x + byContent[0]![h]![i]![j]!) / Math.sqrt(headDim));
        return [...softmax(scores), ...Array<number>(Skv - row.length).fill(0)];
      }),
    );
    expect(numbersOf(weights!)).toEqual(expected.map((x) => expect.closeTo(x, 5)));
    dispose();
  });

  it('H3: has no leftovers: a row depends on no other row', () => {
    const { layer, dispose } = layerWith();
    const query = random([1, 3, E], 1);
    const ofFirstRow = (x: tf.Tensor) =>
      tf.sum(
        tf.slice(layer.apply({ query: x as tf.Tensor3D, key: query }, { mask: causal() }).output, 0, [
          1,
          1,
          E,
        ]),
      );
    const gradient = tf.grad(ofFirstRow)(query);
    expect(numbersOf(gradient).slice(E)).toEqual(Array(2 * E).fill(0));
    dispose();
  });

  it('H5: lets the first query see the first memory', () => {
    const { layer, dispose } = layerWith();
    const [memories, query] = [random([1, 4, E], 1), random([1, 4, E], 2)];
    const key = tf.concat([memories, query], 1);
    const { weights } = layer.apply({ query, key }, { mask: causal(), returns: ['weights'] });
    const first = numbersOf(weights!).slice(0, 8);
    expect(first.map((x) => x > 0)).toEqual([true, true, true, true, true, false, false, false]);
    dispose();
  });

  it('takes memories as keys: segment by segment gives what one pass gives', () => {
    const { layer, dispose } = layerWith();
    const x = random([2, 6, E], 1);
    const whole = layer.apply({ query: x }, { mask: causal() }).output;
    const key = tf.slice(x, 0, [2, 6, E]);
    const last = layer.apply({ query: tf.slice(x, [0, 4, 0], [2, 2, E]), key }, { mask: causal() }).output;
    expectClose({
      actual: { output: toHost(last) },
      expected: { output: toHost(tf.slice(whole, [0, 4, 0], [2, 2, E])) },
    });
    dispose();
  });

  it('has no term for keys ahead where it is not bidirectional, which a causal mask cannot tell', () => {
    const [both, one] = [layerWith(), layerWith({ bidirectional: false })];
    const query = random([1, 5, E], 1);
    const outputs = (call: object) =>
      [both, one].map(({ layer }) => toHost(layer.apply({ query }, call).output));
    const [masked, maskedOne] = outputs({ mask: causal() });
    expectClose({ actual: { output: maskedOne! }, expected: { output: masked! } });
    const [open, openOne] = outputs({});
    expect([...openOne!]).not.toEqual([...open!]);
    expect(one.position.tables!(tf.zeros([1, numHeads, 1, headDim]), [-3, 4]).keys!.table.shape[1]).toBe(5); // 4 behind
    both.dispose();
    one.dispose();
  });

  it('keeps projected sinusoids between decode steps, and makes them again when the kernel changes', () => {
    const { layer, position, dispose } = layerWith();
    const tableOf = (from: number) =>
      position.tables!(tf.zeros([1, numHeads, 1, headDim]), [from, 1]).keys!.table;
    const first = tableOf(-5);
    expect(tableOf(-6)).toBe(first);
    expect(tableOf(-8)).toBe(first);
    expect(tableOf(-9)).not.toBe(first);
    expect(first.isDisposed).toBe(true);
    const [, , kernel] = position.variables.map(({ variable }) => variable);
    const second = tableOf(-9);
    kernel!.assign(tf.mul(kernel!, 2));
    const third = tableOf(-9);
    expect(third).not.toBe(second);

    // What is kept is what is computed anew, step by step, and in one pass.
    const query = random([1, 9, E], 1);
    const cache = new GrowingCache(layer.cacheShape(1));
    const steps = tokenByToken(layer, query, { mask: causal(), cache });
    const fresh = transformerXL({ numHeads, headDim });
    fresh.setWeights(position.getWeights());
    const other = new MultiHeadAttention({ embedDim: E, numHeads }, { position: fresh });
    other.setWeights(layer.getWeights());
    const { value } = tf.valueAndGrad((x) =>
      tf.sum(other.apply({ query: x as tf.Tensor3D }, { mask: causal() }).output),
    )(query);
    const output = toHost(steps);
    expectClose({
      actual: { output },
      expected: { output: toHost(other.apply({ query }, { mask: causal() }).output) },
    });
    expect(output.reduce((sum, x) => sum + x, 0)).toBeCloseTo(numbersOf(value)[0]!, 4);
    cache.dispose();
    other.dispose();
    fresh.dispose();
    dispose();
  });

  it('holds one table of its own, and nothing once disposed', () => {
    const before = tf.memory().numTensors;
    const { layer, dispose } = layerWith();
    const variables = tf.memory().numTensors;
    expectFlatHeap(() => void layer.apply({ query: random([1, 20, E], 1) }, { mask: causal() }), 20);
    expect(tf.memory().numTensors).toBe(variables + 1);
    dispose();
    expect(tf.memory().numTensors).toBe(before);
    expect(() => layer.apply({ query: tf.zeros([1, 2, E]) })).toThrow(/must not be disposed/);
  });

  it.each<[object, RegExp]>([
    [{ numHeads: 0 }, /numHeads must be a whole number above 0/],
    [{ embedDim: 5 }, /embedDim must be even/],
    [{ bidirectional: 1 }, /bidirectional must be true or false/],
    [{ clampLength: 4 }, /unknown +\[clampLength\]/],
  ])('refuses %j', (options, message) => {
    expect(() => transformerXL({ numHeads: 2, headDim: 2, ...options })).toThrow(message);
  });
});
