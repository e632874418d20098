// Position methods for heads of one size, in layers with others and called by hand.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import {
  ConfigError,
  isAttentionError,
  type PositionMethod,
  ShapeError,
  type TokenPositions,
} from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  alibi,
  axialRotary,
  bertRelative,
  deberta,
  gridPositions,
  type RotaryConfig,
  rotary,
  shaw,
  swin,
  t5,
  transformerXL,
} from './index';

const sizes = { numHeads: 2, headDim: 4 };

const methods: readonly (readonly [string, readonly (keyof typeof sizes)[], () => PositionMethod])[] = [
  ['rotary', ['headDim'], () => rotary({ headDim: 4, sections: [1, 1] })],
  ['axialRotary', ['headDim'], () => axialRotary({ headDim: 4 })],
  ['alibi', ['numHeads'], () => alibi({ numHeads: 2 })],
  ['t5', ['numHeads'], () => t5({ numHeads: 2 })],
  ['swin', ['numHeads'], () => swin({ numHeads: 2, window: [1, 3] })],
  ['bertRelative', ['headDim'], () => bertRelative({ headDim: 4 })],
  ['shaw', ['headDim'], () => shaw({ headDim: 4 })],
  ['shaw', ['numHeads', 'headDim'], () => shaw(sizes)],
  ['transformerXL', ['numHeads', 'headDim'], () => transformerXL(sizes)],
  ['deberta', ['numHeads', 'headDim'], () => deberta({ embedDim: 8, ...sizes })],
];

describe.each(methods)('%s with %j', (name, needs, create) => {
  it('refuses a layer with other heads when it is made, and by hand', () => {
    const before = memoryNow();
    const position = create();
    for (const size of ['numHeads', 'headDim'] as const) {
      const others = { ...sizes, [size]: sizes[size] + 1 };
      const make = () => new MultiHeadAttention({ embedDim: 12, ...others }, { position });
      const heads: tf.Tensor4D = tf.zeros([1, others.numHeads, 3, others.headDim]);
      const byHand = () =>
        position.tables?.(heads, [-2, 3]) ?? position.rotate!(heads, 'query', gridPositions([1, 3]));
      if (needs.includes(size)) {
        expect(make).toThrow(ConfigError);
        expect(make).toThrow(new RegExp(`^${name}: the layer must have the ${size} of its position method`));
        expect(byHand).toThrow(ShapeError);
        expect(byHand).toThrow(new RegExp(`^${name}: .* must (be|have) ${size}`));
      } else {
        make().dispose();
        tf.tidy(() => {
          byHand();
        });
      }
      heads.dispose();
    }
    position.dispose();
    expectSameMemory(before);
  });

  it('refuses what is not a call of its own, with a typed error', () => {
    const position = create();
    const heads: tf.Tensor4D = tf.zeros([1, 2, 3, 4]);
    const at: TokenPositions[] = [{ start: [0] }, { start: [0] }];
    const wrong: (() => unknown)[] = [
      null,
      undefined,
      3,
      tf.zeros([2, 3, 4]),
      tf.zeros([1, 2, 3, 4], 'int32'),
    ].map((x) => () => position.tables?.(x as never, [-2, 3]) ?? position.rotate!(x as never, 'query', at));
    if (position.tables) {
      for (const distances of [
        null,
        undefined,
        [],
        [0],
        [3, -2],
        [0, 0],
        [0, 1.5],
        [-Infinity, 3],
        ['0', '1'],
        5,
      ]) {
        wrong.push(() => position.tables!(heads, distances as never));
      }
    }
    if (position.rotate) {
      wrong.push(() => position.rotate!(heads, 'value' as never, at));
      for (const positions of [
        null,
        undefined,
        [],
        [null],
        [{}],
        [{ start: [0.5] }, { start: [0] }],
        [{ start: [0] }, { start: ['1'] }],
        [{ start: [2 ** 31] }, { start: [0] }],
        [{ start: [0, 1] }],
        [{ start: 0 }],
        [{ each: [0, 1, 2] }],
        [{ each: Int32Array.of(1) }],
      ]) {
        wrong.push(() => position.rotate!(heads, 'query', positions as never));
      }
    }
    const before = tf.memory().numTensors;
    for (const call of wrong) expect(thrownBy(call)).toSatisfy(isAttentionError);
    expect(tf.memory().numTensors).toBe(before);
    position.dispose();
  });

  it('says of itself that it is disposed', () => {
    const position = create();
    if (position.variables.length === 0) return;
    const layer = new MultiHeadAttention({ embedDim: 8, ...sizes }, { position });
    position.dispose();
    const heads: tf.Tensor4D = tf.zeros([1, 2, 3, 4]);
    const disposed = new RegExp(`^${name}: ${name} must not be disposed`);
    expect(() => position.tables!(heads, [-2, 3])).toThrow(disposed);
    expect(() => layer.apply({ query: tf.zeros([1, 3, 8]) })).toThrow(disposed);
    layer.dispose();
  });
});

it('shaw with a table for values refuses a layer with values of another size', () => {
  const position = shaw({ headDim: 4, valueHeadDim: 3, valueTable: 'own' });
  expect(() => new MultiHeadAttention({ embedDim: 8, ...sizes }, { position })).toThrow(
    /^shaw: the layer must have the valueHeadDim of its position method/,
  );
  new MultiHeadAttention({ embedDim: 8, ...sizes, valueHeadDim: 3 }, { position }).dispose();
  position.dispose();
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

const longrope = {
  type: 'longrope' as const,
  factor: 2,
  originalLength: 8,
  shortFactors: [1, 1],
  longFactors: [2, 2],
};

it.each<[string, object, (config: never) => { readonly config: object }]>([
  ['alibi', { numHeads: 2, slopes: [1, 2] }, alibi],
  ['swin', { numHeads: 2, window: [2, 3] }, swin],
  ['deberta', { embedDim: 4, numHeads: 2, terms: ['contentToPosition'] }, deberta],
  ['rotary', { headDim: 4, sections: [1, 1], scaling: longrope }, rotary],
])('the config of %s shares nothing with its caller, and is frozen throughout', (_name, options, create) => {
  const before = JSON.stringify(options);
  const { config } = create(options as never);
  expectFrozenApart(config, options);
  expect(JSON.stringify(options)).toBe(before);
  expect(JSON.parse(JSON.stringify(config))).toEqual(JSON.parse(before));
});

it('leaves the lists of the caller open to change, without effect', () => {
  const scaling = { ...longrope, shortFactors: [1, 1] };
  const method = rotary({ headDim: 4, scaling });
  scaling.shortFactors[0] = 7;
  expect((method.config as RotaryConfig).scaling).toEqual(longrope);
});

function expectFrozenApart(one: unknown, other: unknown): void {
  if (typeof one !== 'object' || one === null) return;
  expect(one).not.toBe(other);
  expect(Object.isFrozen(one)).toBe(true);
  for (const [name, entry] of Object.entries(one)) expectFrozenApart(entry, (other as never)[name]);
}
