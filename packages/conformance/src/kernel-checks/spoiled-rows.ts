// Checks that a row that is not finite, or whose products overflow, spoils exactly the rows that see it; and that rows
// which the loss does not use have no influence on its gradients, whatever they hold.
import * as tf from '@tensorflow/tfjs-core';
import type { AttentionCase, CaseRow } from '../attention-case';
import type { Check } from '../check';
import { expectClose, expectSlopes } from '../expect-close';
import { type HostTensors, slopesOf, weightedSum } from '../gradients';
import {
  attendWith,
  cotangentsOf,
  kernelNumbers,
  type Numbers,
  readAll,
  resultNames,
  toTensor,
  toTensors,
} from '../kernel-run';
import { attentionOracle } from '../oracle';
import { allowedCase, allowsRow, type KernelUnderTest } from './suite';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 6, D: 3, Dv: 2 };

/** The numbers of one row, and what they are replaced by: of batch entry 0, head 1, and the last token but `behind`. */
interface Spoiler {
  readonly name: string;
  readonly argument: 'query' | 'key' | 'value';
  readonly number: number;
  readonly behind: number;
}

const spoilers: readonly Spoiler[] = [
  { name: 'a key of NaN', argument: 'key', number: Number.NaN, behind: 0 },
  { name: 'a key of Infinity', argument: 'key', number: Number.POSITIVE_INFINITY, behind: 1 },
  { name: 'a value of NaN', argument: 'value', number: Number.NaN, behind: 0 },
  { name: 'a value of -Infinity', argument: 'value', number: Number.NEGATIVE_INFINITY, behind: 1 },
  { name: 'a query of NaN', argument: 'query', number: Number.NaN, behind: 2 },
];

const rows: readonly CaseRow[] = [
  { sizes, mask: 'none' },
  { sizes, mask: 'causal' },
  { sizes, mask: 'lengths per row' },
  { sizes, mask: 'dense [B, Hq, Sq, Skv]' },
  { sizes, mask: 'causal', sinkLogits: true },
  { sizes, mask: 'causal', softcap: 2 },
  { sizes, bias: '[B, Hq, Sq, Skv] hiding pairs and a row' },
];

export function spoiledRowChecks(suite: KernelUnderTest): readonly Check[] {
  const allowed = rows.filter((row) => allowsRow(suite, row));
  return allowed.flatMap((row) => {
    const makeCase = () => allowedCase(suite, { ...row, returns: ['weights', 'logSumExp'] });
    const { name } = makeCase();
    return [
      ...spoilers.flatMap((spoiler) => [
        {
          name: `${spoiler.name} spoils exactly the rows that see it: ${name}`,
          run: () => checkSpoiled(suite, makeCase(), [spoiler]),
        },
        {
          name: `${spoiler.name}, seen by rows that the loss does not use, has no influence on gradients: ${name}`,
          run: () => checkUnused(suite, makeCase(), [spoiler]),
        },
      ]),
      {
        name: `products that overflow at hidden pairs have no influence: ${name}`,
        run: () => checkOverflow(suite, makeCase),
      },
    ];
  });
}

// float32 ends at 3.4e38.
const overflow: readonly Spoiler[] = [
  { name: 'a large query', argument: 'query', number: 1e10, behind: 3 },
  { name: 'a huge key', argument: 'key', number: 1e30, behind: 0 },
];

/** The same case with the rows spoiled. */
function spoil(testCase: AttentionCase, all: readonly Spoiler[]): AttentionCase {
  for (const { argument, number, behind } of all) {
    const { shape, data } = testCase.arrays[argument]!;
    const [, , S, width] = shape as [number, number, number, number];
    const row = S + S - 1 - behind; // of head 1
    data.fill(number, row * width, (row + 1) * width);
  }
  return testCase;
}

async function checkSpoiled(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  all: readonly Spoiler[],
): Promise<void> {
  spoil(testCase, all);
  const { maxAbsScore: _, ...oracle } = attentionOracle(testCase.oracle);
  expectClose({
    actual: await kernelNumbers(suite.create(), testCase),
    expected: Object.fromEntries(resultNames(testCase).map((name) => [name, oracle[name]])),
  });
}

/** Results of rows that see none of the spoiled rows, and gradients of a loss of these alone, equal the oracle's. */
async function checkUnused(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  all: readonly Spoiler[],
): Promise<void> {
  spoil(testCase, all);
  const isSpoiled = spoiledRows(testCase, all);
  const cotangents = usedCotangents(testCase, isSpoiled);
  const loss = () => {
    const results = attentionOracle(testCase.oracle);
    return Object.entries(cotangents).reduce((sum, [name, { data }]) => {
      const used = results[name as 'output'].map((x, n) => (data[n] === 0 ? 0 : x));
      return sum + weightedSum(used, data);
    }, 0);
  };
  const gradients = await gradientsOf(suite, testCase, cotangents);
  expectSlopes({ gradients, slopes: slopesOf(loss, testCase.arrays) });
}

/** Results of rows that do not see the huge key equal the oracle's; gradients those with another key in its place. */
async function checkOverflow(suite: KernelUnderTest, makeCase: () => AttentionCase): Promise<void> {
  const testCase = spoil(makeCase(), overflow);
  const isSpoiled = spoiledRows(testCase, overflow);
  const ofUsed = (x: Float64Array) =>
    x.filter((_, n) => !isSpoiled[Math.floor((n * isSpoiled.length) / x.length)]);
  const oracle = attentionOracle(testCase.oracle);
  const numbers = await kernelNumbers(suite.create(), testCase);
  expectClose({
    actual: Object.fromEntries(Object.entries(numbers).map(([name, x]) => [name, ofUsed(x)])),
    expected: Object.fromEntries(resultNames(testCase).map((name) => [name, ofUsed(oracle[name])])),
  });
  const cotangents = usedCotangents(testCase, isSpoiled);
  const harmless = spoil(makeCase(), [overflow[0]!]);
  expectClose({
    actual: await gradientsOf(suite, testCase, cotangents),
    expected: await gradientsOf(suite, harmless, cotangents),
    isGradient: true,
  });
}

/** Cotangents that are 0 for spoiled rows. */
function usedCotangents(testCase: AttentionCase, isSpoiled: readonly boolean[]): HostTensors {
  const all = cotangentsOf(testCase);
  for (const { data } of Object.values(all)) {
    const width = data.length / isSpoiled.length;
    for (let n = 0; n < data.length; n++) if (isSpoiled[Math.floor(n / width)]) data[n] = 0;
  }
  return all;
}

function gradientsOf(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  cotangents: HostTensors,
): Promise<Numbers> {
  const names = Object.keys(testCase.arrays);
  const options = testCase.options();
  const weights = Object.entries(cotangents).map(([name, array]) => [name, toTensor(array)] as const);
  const gradients = tf.grads((...tensors: tf.Tensor[]) => {
    const named = Object.fromEntries(names.map((name, n) => [name, tensors[n]!]));
    const results = attendWith(suite.create(), named, options);
    const terms = weights.map(([name, weight]) => tf.sum(tf.mul(results[name as 'output']!, weight)));
    return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
  })(Object.values(toTensors(testCase.arrays)));
  return readAll(Object.fromEntries(names.map((name, n) => [name, gradients[n]!])));
}

/** Which rows of [B, Hq, Sq] are spoiled themselves, or see a key or value that is. */
function spoiledRows({ row, oracle }: AttentionCase, all: readonly Spoiler[]): boolean[] {
  const { B, Hq, Hkv, Sq, Skv } = row.sizes;
  const sees = (b: number, h: number, i: number, j: number) => {
    const bias = oracle.bias?.data[((b * Hq + h) * Sq + i) * Skv + j];
    return (oracle.isVisible?.(b, h, i, j) ?? true) && bias !== Number.NEGATIVE_INFINITY;
  };
  return Array.from({ length: B * Hq * Sq }, (_, n) => {
    const [b, h, i] = [Math.floor(n / (Hq * Sq)), Math.floor(n / Sq) % Hq, n % Sq];
    return all.some(({ argument, number, behind }) => {
      if (b !== 0) return false;
      if (argument === 'query') return h === 1 && i === Sq - 1 - behind && !Number.isFinite(number);
      return Math.floor((h * Hkv) / Hq) === 1 && sees(b, h, i, Skv - 1 - behind);
    });
  });
}
