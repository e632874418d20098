// NaN and Infinity in rows that nobody sees, or whose results nobody uses: whatever these hold, nothing changes.
import {
  expectClose,
  type HostTensor,
  type Numbers,
  randomTensor,
  seededRandom,
  toHost,
  toTensors,
} from '@polyhead/conformance';
import {
  type AttendOptions,
  attend,
  causal,
  dense,
  type Mask,
  type RelativeTables,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

const [B, Hq, Hkv, S, D, Dv, R] = [2, 2, 1, 11, 4, 3, 5];

type Arrays = { readonly [name: string]: HostTensor };

const random = seededRandom(5);
const array = (...shape: number[]) => randomTensor(shape, random);

const plain: Arrays = {
  query: array(B, Hq, S, D),
  key: array(B, Hkv, S, D),
  value: array(B, Hkv, S, Dv),
};

const kinds: { readonly [name: string]: Arrays } = {
  'no table': {},
  biasTable: { biasTable: array(Hq, R) },
  keyTable: { keyTable: array(1, R, D) },
  'keyTable, queries of its own': { keyTable: array(1, R, D), keyTableQuery: array(B, Hq, S, D) },
  queryTable: { queryTable: array(Hq, R, D) },
  valueTable: { valueTable: array(1, R, Dv) },
  'all tables': {
    biasTable: array(Hq, R),
    keyTable: array(Hq, R, D),
    queryTable: array(1, R, D),
    valueTable: array(Hq, R, Dv),
  },
};

interface Call {
  readonly arrays: Arrays;
  readonly options: AttendOptions;
  readonly lost?: number; // queries, from the last on, that are not in the loss
}

/** The gradient of everything that has one. */
function gradients({ arrays, options, lost = 0 }: Call): Numbers {
  const names = Object.keys(arrays);
  const loss = (...all: tf.Tensor[]) => {
    const x = Object.fromEntries(names.map((name, n) => [name, all[n]!]));
    const { query, key, value } = x as { readonly [name: string]: tf.Tensor4D };
    const kernel = fusedKernel({ rowsPerTile: 8, keysPerTile: 4 });
    const inputs = { query: query!, key: key!, value: value! };
    const { output } = attend(kernel, inputs, { ...options, relative: tablesOf(x) });
    const [batch, heads, rows, size] = output.shape;
    return tf.sum(tf.square(tf.slice(output, 0, [batch, heads, rows - lost, size]))) as tf.Scalar;
  };
  const gradients = tf.grads(loss)(Object.values(toTensors(arrays)));
  return Object.fromEntries(names.map((name, n) => [name, toHost(gradients[n]!)]));
}

function tablesOf({
  biasTable,
  keyTable,
  keyTableQuery,
  queryTable,
  valueTable,
}: {
  readonly [name: string]: tf.Tensor;
}): RelativeTables {
  const index = { from: -2, rows: Int32Array.of(0, 1, 2, 3, 4) };
  const tables = {
    bias: { table: biasTable, index },
    keys: { table: keyTable, index, query: keyTableQuery },
    queries: { table: queryTable, index },
    values: { table: valueTable, index },
  };
  return Object.fromEntries(Object.entries(tables).filter(([, { table }]) => table)) as RelativeTables;
}

/** Numbers replaced where an index along an axis is one of these. */
function filled({ shape, data }: HostTensor, axis: number, indices: readonly number[], number: number) {
  const size = shape.slice(axis + 1).reduce((product, n) => product * n, 1);
  return {
    shape,
    data: data.map((x, n) => (indices.includes(Math.floor(n / size) % shape[axis]!) ? number : x)),
  };
}

interface Hidden {
  readonly options: () => AttendOptions;
  readonly tokens: { readonly [name: string]: readonly number[] }; // of each tensor, that nobody sees
  readonly lost?: number;
}

/** Hides all pairs of some queries, or of some keys. */
const hiding = (tokens: readonly number[], of: 'queries' | 'keys'): Mask =>
  dense(
    tf.tensor2d(
      Array.from({ length: S * S }, (_, n) =>
        tokens.includes(of === 'keys' ? n % S : Math.floor(n / S)) ? 0 : 1,
      ),
      [S, S],
      'int32',
    ),
  );

const hidings: { readonly [name: string]: Hidden } = {
  'keys hidden by dense': {
    options: () => ({ mask: hiding([0, 6], 'keys') }),
    tokens: { key: [0, 6], value: [0, 6] },
  },
  'keys hidden by a bias': {
    options: () => {
      const numbers = Array.from({ length: S }, (_, j) => (j === 3 ? -Infinity : j / 9));
      return { bias: tf.tensor4d(numbers, [1, 1, 1, S]) };
    },
    tokens: { key: [3], value: [3] },
  },
  'keys behind the valid ones': {
    options: () => ({ mask: validLengths([9, 9]) }),
    tokens: { key: [9, 10], value: [9, 10] },
  },
  'queries that see no key': {
    options: () => ({ mask: hiding([0, 10], 'queries') }),
    tokens: { query: [0, 10], keyTableQuery: [0, 10] },
  },
  'queries that see no key, but a sink': {
    options: () => ({ mask: hiding([4, 5], 'queries'), sinkLogits: tf.tensor1d([0.3, -0.2]) }),
    tokens: { query: [4, 5], keyTableQuery: [4, 5] },
  },
  'a padded token that is not in the loss': {
    options: () => ({ mask: causal() }),
    tokens: { query: [10], keyTableQuery: [10], key: [10], value: [10] },
    lost: 1,
  },
};

describe.each(Object.entries(hidings))('%s', (_, { options, tokens, ...rest }) => {
  it.each(Object.entries(kinds))('change no gradient, whatever they hold: %s', (_name, tables) => {
    const gradientsWith = (number: number) => {
      const arrays = Object.entries({ ...plain, ...tables }).map(([name, x]) => [
        name,
        filled(x, 2, tokens[name] ?? [], number),
      ]);
      return gradients({ arrays: Object.fromEntries(arrays), options: options(), ...rest });
    };
    const expected = gradientsWith(0);
    for (const number of [Number.NaN, Infinity, 3e38]) {
      expectClose({ actual: gradientsWith(number), expected, isGradient: true });
    }
  });
});

describe('rows of tables that only hidden pairs look up', () => {
  it.each(Object.entries(kinds).slice(1))('reach nothing: %s', (_, tables) => {
    const gradientsWith = (number: number) => {
      const arrays = Object.entries({ ...plain, ...tables }).map(([name, x]) => {
        if (x.shape.length < 4) return [name, filled(x, 1, [0], number)]; // the distance -2
        return [name, firstTokens(x, name === 'key' || name === 'value' ? 3 : 1)];
      });
      const mask = dense(tf.tensor2d([[0, 1, 1]], [1, 3], 'int32'));
      return gradients({ arrays: Object.fromEntries(arrays), options: { mask } });
    };
    expectClose({ actual: gradientsWith(Number.NaN), expected: gradientsWith(0), isGradient: true });
  });

  function firstTokens({ shape, data }: HostTensor, count: number): HostTensor {
    const [batch, heads, length, size] = shape as [number, number, number, number];
    return {
      shape: [batch, heads, count, size],
      data: data.filter((_, n) => Math.floor(n / size) % length < count),
    };
  }
});
