// The suite of position methods, tried on methods that are known to be wrong: each fault is noticed.
import {
  alibiOracle,
  type PositionCase,
  positionCells,
  rotaryOracle,
  shawOracle,
  t5Oracle,
} from '@polyhead/conformance';
import type { PositionMethod, RelativeTables } from '@polyhead/core';
import { GroupedQueryAttention, type GroupedQueryConfig } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { alibi, alibiSlopes, rotary, shaw, t5, t5Bucket } from './index';

const buckets = { numBuckets: 6, maxDistance: 5 };
const right = {
  rotary: {
    name: 'rotary',
    create: ({ headDim }) => rotary({ headDim }),
    oracle: rotaryOracle({ rotaryDim: 4 }),
  },
  alibi: {
    name: 'alibi',
    create: ({ numHeads }) => alibi({ numHeads }),
    oracle: alibiOracle(alibiSlopes(4)),
  },
  t5: {
    name: 't5',
    create: ({ numHeads }) => t5({ numHeads, ...buckets }),
    oracle: t5Oracle((distance) => t5Bucket(distance, buckets)),
    selfOnly: true,
  },
  shaw: {
    name: 'shaw',
    create: ({ headDim }) => shaw({ headDim, maxRelativePosition: 2 }),
    oracle: shawOracle({ k: 2 }),
  },
} as const satisfies { readonly [name: string]: PositionCase };

function changed(
  positionCase: PositionCase,
  change: (method: PositionMethod) => Partial<PositionMethod>,
): PositionCase {
  return {
    ...positionCase,
    create(sizes) {
      const method = positionCase.create(sizes);
      const { rotateInto: _, ...rest } = method; // which does what `rotate` did before the change
      return { ...rest, ...change(method) };
    },
  };
}

/** The method with its tables changed. */
function withTables(
  positionCase: PositionCase,
  change: (tables: RelativeTables) => RelativeTables,
): PositionCase {
  return changed(positionCase, ({ tables }) => ({ tables: (...call) => change(tables!(...call)) }));
}

/** The calls whose numbers the suite finds wrong. */
async function wrongCalls(method: PositionCase): Promise<readonly string[]> {
  const cells = positionCells({
    methods: [method],
    variants: [
      {
        name: 'GroupedQueryAttention',
        config: { numKeyValueHeads: 2 },
        create: (config, parts) => new GroupedQueryAttention(config as GroupedQueryConfig, parts),
      },
    ],
    createCache: (layer, batch) => new GrowingCache(layer.cacheShape(batch)),
  });
  const wrong = new Set<string>();
  for (const { calls, run } of cells) {
    try {
      await run();
    } catch (error) {
      expect(String(error)).toMatch(/apart|tf.memory|nothing was thrown/);
      wrong.add(calls);
    }
  }
  return [...wrong];
}

const kept: tf.Tensor[] = [];

/** The tensor, whose gradient is another than it should be. */
function withGradient<T extends tf.Tensor>(x: T, change: (gradient: tf.Tensor) => tf.Tensor): T {
  return tf.customGrad((input) => ({ value: tf.clone(input as T), gradFunc: change }))(x);
}

/** One row of the second axis, of tables [heads, R, …], scaled. */
function rowScaled(x: tf.Tensor, row: number, factor: number): tf.Tensor {
  const factors = Array.from({ length: x.shape[1]! }, (_, r) => (r === row ? factor : 1));
  return tf.mul(x, tf.tensor(factors, [1, factors.length, ...Array(x.rank - 2).fill(1)]));
}

describe('a fault of a position method is noticed', () => {
  beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'the suite notices the same on every backend'));

  it.each<[string, PositionCase, string]>([
    [
      'keys turned the other way',
      changed(right.rotary, ({ rotate }) => ({
        rotate: (heads, role, [at]) =>
          rotate!(heads, role, [role === 'key' && at && at.start ? { start: at.start.map((p) => -p) } : at!]),
      })),
      'one pass, positions before 0',
    ],
    [
      'keys one position further',
      changed(right.rotary, ({ rotate }) => ({
        rotate: (heads, role, [at]) =>
          rotate!(heads, role, [
            role === 'key' && at && at.start ? { start: at.start.map((p) => p + 1) } : at!,
          ]),
      })),
      'cached',
    ],
    [
      'keys written one position further',
      changed(right.rotary, ({ rotateInto }) => ({
        rotateInto: (to, heads, role, [at]) =>
          rotateInto!(to, heads, role, [
            role === 'key' && at && at.start ? { start: at.start.map((p) => p + 1) } : at!,
          ]),
      })),
      'one pass',
    ],
    [
      'positions one by one are read as consecutive ones',
      changed(right.rotary, ({ rotate }) => ({
        rotate: (heads, role) => rotate!(heads, role, [{ start: [0] }]),
      })),
      'one pass, own positions',
    ],
    [
      'a distance off by one',
      withTables(right.alibi, ({ bias }) => ({
        bias: { table: bias!.table, index: { from: bias!.index.from + 1 } },
      })),
      'one pass',
    ],
    [
      'a mirrored table',
      withTables(right.shaw, ({ keys }) => ({
        keys: { ...keys!, index: { from: -2, rows: Int32Array.of(4, 3, 2, 1, 0) } },
      })),
      'one pass',
    ],
    ['a bias in cross-attention', changed(right.t5, () => ({ selfOnly: false })), 'cross-attention'],
    [
      'a table without a gradient',
      withTables(right.shaw, ({ keys }) => ({
        keys: { ...keys!, table: tf.tensor3d(keys!.table.dataSync() as Float32Array, keys!.table.shape) },
      })),
      'gradients',
    ],
    [
      'a table whose rows have the gradients of others',
      withTables(right.shaw, ({ keys }) => ({
        keys: { ...keys!, table: withGradient(keys!.table, (x) => tf.reverse(x, 1)) },
      })),
      'gradients',
    ],
    [
      'a table without the gradient of one row',
      withTables(right.shaw, ({ keys }) => ({
        keys: { ...keys!, table: withGradient(keys!.table, (x) => rowScaled(x, 2, 0)) },
      })),
      'gradients',
    ],
    [
      'a table with the gradient of one row off by 1 %',
      withTables(right.t5, ({ bias }) => ({
        bias: { ...bias!, table: withGradient(bias!.table, (x) => rowScaled(x, 2, 1.01)) },
      })),
      'gradients',
    ],
    [
      'keys rotated with the gradient of queries',
      changed(right.rotary, ({ rotate }) => ({
        rotate: (heads, role, at) =>
          withGradient(rotate!(heads, role, at), (x) => (role === 'key' ? tf.reverse(x, 3) : x)) as never,
      })),
      'gradients',
    ],
    [
      'a table that is never disposed',
      withTables(right.alibi, (tables) => {
        kept.push(tf.keep(tf.zeros([1])));
        return tables;
      }),
      'repeated',
    ],
  ])('%s', async (_, method, calls) => {
    expect(await wrongCalls(method)).toContain(calls);
    tf.dispose(kept.splice(0));
  });

  it.each(Object.values(right))('and none where there is none: $name', async (method) => {
    expect(await wrongCalls(method)).toEqual([]);
  });
});
