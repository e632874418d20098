// Sizes that no tile divides, and sizes of tiles.
import {
  attentionCase,
  attentionOracle,
  expectClose,
  expectNumbers,
  type Numbers,
  seededRandom,
  toHost,
  toTensors,
} from '@polyhead/conformance';
import { type AttentionKernel, attend, composed, dense } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

const lengths = [1, 2, 3, 5, 7, 17, 33, 65];
const headSizes = [3, 8, 63, 64, 80, 128, 256];
const tiles = [{ rowsPerTile: 4, keysPerTile: 4 }, { rowsPerTile: 16, keysPerTile: 16 }, {}];

type TestCase = ReturnType<typeof attentionCase>;

function results(kernel: AttentionKernel, testCase: TestCase): Numbers {
  const { query, key, value } = toTensors(testCase.arrays) as { [name: string]: tf.Tensor4D };
  const {
    kernel: _,
    state: __,
    ...all
  } = attend(kernel, { query: query!, key: key!, value: value! }, testCase.options());
  return Object.fromEntries(Object.entries(all).map(([name, tensor]) => [name, toHost(tensor)]));
}

describe('ragged sizes', () => {
  for (const [n, S] of lengths.entries()) {
    for (const D of headSizes) {
      it(`K1: ${S} tokens in heads of ${D} equal the oracle, with tiles of 4, 16 and the default`, () => {
        const Skv = lengths[lengths.length - 1 - n]!;
        const same = { B: 1, Hq: 2, Hkv: 1, Sq: S, Skv: S, D, Dv: D };
        for (const sizes of [same, { ...same, B: 2, Skv, Dv: 3 }]) {
          const testCase = attentionCase({ sizes, mask: 'causal', returns: ['logSumExp'] });
          const { output, logSumExp, maxAbsScore } = attentionOracle(testCase.oracle);
          for (const tile of tiles) {
            expectClose({
              actual: results(fusedKernel(tile), testCase),
              expected: { output, logSumExp },
              baseline: results(composed(), testCase),
              maxAbsScore,
            });
          }
        }
      });
    }
  }
});

/** One head, one query row a list of scores, scale 1, keys in tiles of 2. */
function weigh(scores: readonly number[], values: readonly number[], visible?: readonly number[]) {
  const Skv = scores.length;
  const inputs = {
    query: tf.tensor4d([...scores], [1, 1, 1, Skv]),
    key: tf.reshape(tf.eye(Skv), [1, 1, Skv, Skv]) as tf.Tensor4D,
    value: tf.tensor4d([...values], [1, 1, Skv, 1]),
  };
  const mask = visible && { mask: dense(tf.tensor2d([...visible], [1, Skv], 'int32')) };
  return attend(fusedKernel({ keysPerTile: 2 }), inputs, { scale: 1, returns: ['logSumExp'], ...mask });
}

describe('gradients', () => {
  for (const [Sq, Skv] of [
    [33, 17],
    [17, 65],
  ] as const) {
    it(`K9: of ${Sq} queries and ${Skv} keys equal those of the default kernel, masked and ragged`, () => {
      const sizes = { B: 2, Hq: 2, Hkv: 1, Sq, Skv, D: 5, Dv: 3 };
      for (const mask of ['causal', 'lengths per row', 'dense [B, Hq, Sq, Skv]'] as const) {
        const testCase = attentionCase({ sizes, mask, softcap: 2 });
        const options = testCase.options();
        const gradients = (kernel: AttentionKernel): Numbers => {
          const loss = (query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) => {
            const inputs = { query, key, value } as Parameters<typeof attend>[1];
            return tf.sum(tf.square(attend(kernel, inputs, options).output)) as tf.Scalar;
          };
          const all = tf.grads(loss as (...x: tf.Tensor[]) => tf.Scalar)(
            Object.values(toTensors(testCase.arrays)),
          );
          return Object.fromEntries(['query', 'key', 'value'].map((name, n) => [name, toHost(all[n]!)]));
        };
        const tiled = fusedKernel({ rowsPerTile: 4, keysPerTile: 16 });
        expectClose({ actual: gradients(tiled), expected: gradients(composed()), isGradient: true });
      }
    });
  }
});

describe('tiles', () => {
  it('K2: hold no phantom keys', () => {
    const inputs = { query: tf.ones([1, 1, 1, 1]), key: tf.fill([1, 1, 3, 1], 2) };
    const value = tf.tensor4d([1, 2, 3], [1, 1, 3, 1]);
    const all = { ...inputs, value } as Parameters<typeof attend>[1];
    expectNumbers(attend(fusedKernel({ keysPerTile: 8 }), all, { scale: 1 }).output, [2]);
  });

  it('K3: may be hidden whole before the first that is seen', () => {
    expectNumbers(weigh([0, 0, 0, 0], [9, 9, 1, 3], [0, 0, 1, 1]).output, [2]);
  });

  it('K4: may be hidden whole behind the last that is seen, and all may be', () => {
    expectNumbers(weigh([0, 0, 0, 0], [1, 3, 9, 9], [1, 1, 0, 0]).output, [2]);
    const { output, logSumExp } = weigh([0, 0, 0, 0], [1, 3, 9, 9], [0, 0, 0, 0]);
    expectNumbers(output, [0]);
    expectNumbers(logSumExp!, [-Infinity]);
  });

  it('K5: may bring a larger maximum later', () => {
    expectNumbers(weigh([0, 0, 3, 3], [1, 1, 2, 2]).output, [1.9525741]);
  });

  it('K7: give the same whatever their sizes are', () => {
    const sizes = { B: 1, Hq: 4, Hkv: 2, Sq: 37, Skv: 41, D: 5, Dv: 3 };
    const testCase = attentionCase({ sizes, mask: 'window', bias: '[1, Hq, Sq, Skv]' });
    const outputOf = (size: number) =>
      [...results(fusedKernel({ rowsPerTile: size, keysPerTile: size }), testCase).output!] as number[];
    const expected = outputOf(64);
    for (const size of [1, 2, 4, 8]) {
      outputOf(size).forEach((x, n) => {
        expect(Math.abs(x - expected[n]!)).toBeLessThan(1e-6);
      });
    }
  });

  it('must hold something', () => {
    expect(() => fusedKernel({ rowsPerTile: 0 })).toThrow(
      /rowsPerTile must be a whole number from 1 to 4096/,
    );
    expect(() => fusedKernel({ keysPerTile: 1.5 })).toThrow(/keysPerTile/);
    expect(() => fusedKernel({ rows: 3 } as object)).toThrow(/rows/);
  });
});

describe('batch entries and heads', () => {
  it('K11: are found where they lie', () => {
    const [B, H, S] = [2, 3, 4];
    const random = seededRandom(3);
    const key = tf.tensor4d(Array.from({ length: B * H * S * 2 }, random), [B, H, S, 2]);
    const values = Array.from({ length: B * H }, (_, n) => Array<number>(S).fill(n)).flat();
    const { output } = attend(fusedKernel(), { query: key, key, value: tf.tensor4d(values, [B, H, S, 1]) });
    expectNumbers(output, values);
  });
});
