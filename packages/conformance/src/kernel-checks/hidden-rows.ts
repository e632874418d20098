// Checks of what no query sees: fully masked rows give zeros, and whatever hidden rows hold never comes out.
import * as tf from '@tensorflow/tfjs-core';
import { type AttentionCase, attentionCase, type CaseRow } from '../attention-case';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { attendWith, kernelGradients, kernelNumbers, type Numbers, readAll, toTensors } from '../kernel-run';
import { attentionOracle, entryAt, type HostTensor } from '../oracle';
import { allowedCase, allows, allowsRow, caseOf, type KernelUnderTest } from './suite';
import { checkGradients, checkResults } from './values';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 7, D: 3, Dv: 6 };
const returns = ['weights', 'logSumExp'] as const;

const fullyMasked: readonly CaseRow[] = [
  { sizes, mask: 'lengths per row' },
  { sizes, mask: 'lengths', sinkLogits: true },
  { sizes, bias: '[B, Hq, Sq, Skv] hiding pairs and a row' },
];
const hiddenKeys: readonly CaseRow[] = [
  { sizes, mask: 'lengths' },
  { sizes, mask: 'lengths per row' },
  { sizes, mask: 'left padding' },
  { sizes, mask: 'causal', queryStart: 0 },
  { sizes, mask: 'dense [B, 1, 1, Skv]' },
  { sizes, bias: '[B, 1, 1, Skv] hiding keys' },
];
const poisons = [Number.NaN, Number.POSITIVE_INFINITY];

export function hiddenRowChecks(suite: KernelUnderTest): readonly Check[] {
  const casesOf = (rows: readonly CaseRow[]) => () =>
    rows.filter((row) => allowsRow(suite, row)).map((row) => allowedCase(suite, { ...row, returns }));
  const [maskedCases, hiddenCases] = [casesOf(fullyMasked), casesOf(hiddenKeys)];
  return [
    ...maskedCases().map((testCase) => ({
      name: `gives exact zeros for a fully masked row: ${testCase.name}`,
      run: () => checkFullyMasked(suite, testCase),
    })),
    { name: 'gives zeros where there is no key at all', run: () => checkNoKeys(suite) },
    ...poisons.flatMap((poison) =>
      hiddenCases().map((testCase) => ({
        name: `never lets ${poison} in hidden rows out: ${testCase.name}`,
        run: () => checkPoisoned(suite, poisoned(testCase, poison)),
      })),
    ),
    ...(allows(suite, 'bias') ? poisons : []).map((poison) => ({
      name: `lets ${poison} in a bias spoil its own row only`,
      run: () => checkSpoiltRow(suite, poison),
    })),
  ];
}

function isVisible(
  { oracle }: AttentionCase,
  at: readonly [b: number, h: number, i: number, j: number],
): boolean {
  const bias = oracle.bias ? entryAt(oracle.bias, at) : 0;
  return oracle.isVisible?.(...at) !== false && bias !== Number.NEGATIVE_INFINITY;
}

const range = (size: number) => [...Array(size).keys()];

/** The query rows [b, h, i] that see no key, by the number of the row. */
function fullyMaskedRows(testCase: AttentionCase): number[] {
  const { B, Hq, Sq, Skv } = testCase.row.sizes;
  return range(B * Hq * Sq).filter((row) => {
    const [b, h, i] = [Math.floor(row / (Hq * Sq)), Math.floor(row / Sq) % Hq, row % Sq];
    return !range(Skv).some((j) => isVisible(testCase, [b, h, i, j]));
  });
}

async function checkFullyMasked(suite: KernelUnderTest, testCase: AttentionCase): Promise<void> {
  const { B, Hq, Sq } = testCase.row.sizes;
  const rows = B * Hq * Sq;
  const masked = fullyMaskedRows(testCase);
  if (masked.length === 0 || masked.length === rows)
    throw new Error(`${masked.length} rows of ${rows} see nothing`);
  const { logSumExp, ...results } = await kernelNumbers(suite.create(), testCase);
  const gradients = allows(suite, 'gradients') ? await kernelGradients(suite.create(), testCase) : {};
  const { query } = gradients as Numbers;
  const byRow = { ...results, ...(query && { 'gradient of query': query }) };
  for (const row of masked) {
    for (const [name, all] of Object.entries(byRow)) {
      const width = all.length / rows;
      if (all.subarray(row * width, (row + 1) * width).some((x) => x !== 0))
        throw new Error(`${name} of row ${row} is not 0`);
    }
  }
  if (logSumExp) {
    const sink = (row: number) =>
      testCase.arrays.sinkLogits?.data[Math.floor(row / Sq) % Hq] ?? Number.NEGATIVE_INFINITY;
    expectClose({
      actual: { logSumExp: Float64Array.from(masked, (row) => logSumExp[row]!) },
      expected: { logSumExp: Float64Array.from(masked, sink) },
    });
  }
  for (const [name, gradient] of Object.entries(gradients)) {
    if (!gradient.every(Number.isFinite)) throw new Error(`the gradient of ${name} is not finite`);
  }
}

async function checkNoKeys(suite: KernelUnderTest): Promise<void> {
  const { B, Hq, Sq, Dv } = sizes;
  const testCase = caseOf(suite, { sizes: { ...sizes, Skv: 0 } });
  const tensors = toTensors(testCase.arrays);
  const outputOf = (query: tf.Tensor) =>
    attendWith(suite.create(), { ...tensors, query }, testCase.options()).output;
  const output = outputOf(tensors.query!);
  if (output.shape.join() !== [B, Hq, Sq, Dv].join()) throw new Error(`output is [${output.shape}]`);
  const gradient = allows(suite, 'gradients') && {
    'gradient of query': tf.grad((query) => tf.sum(outputOf(query)))(tensors.query!),
  };
  for (const [name, numbers] of Object.entries(await readAll({ output, ...gradient }))) {
    if (!numbers.every((x) => x === 0)) throw new Error(`${name} is not zeros`);
  }
}

/** The case with another number in all keys and values that no query of their batch entry sees, and in fully masked queries. */
function poisoned(testCase: AttentionCase, poison: number): AttentionCase {
  const own = attentionCase(testCase.row);
  const { B, Hq, Sq, Skv, D } = own.row.sizes;
  const hidden = range(B * Skv).filter((n) => {
    const [b, j] = [Math.floor(n / Skv), n % Skv];
    return !range(Hq * Sq).some((row) => isVisible(own, [b, Math.floor(row / Sq), row % Sq, j]));
  });
  if (hidden.length === 0) throw new Error('every key is seen');
  for (const n of hidden) {
    for (const rows of [own.arrays.key!, own.arrays.value!])
      fillToken(rows, Math.floor(n / Skv), n % Skv, poison);
  }
  for (const row of fullyMaskedRows(own)) own.arrays.query!.data.fill(poison, row * D, (row + 1) * D);
  return { ...own, name: `${own.name}, ${poison} in hidden rows` };
}

/** Every head's row of one token. The oracle reads the same numbers. */
function fillToken({ shape, data }: HostTensor, b: number, s: number, value: number): void {
  const [, H, S, N] = shape as [number, number, number, number];
  for (let h = 0; h < H; h++) {
    const at = ((b * H + h) * S + s) * N;
    data.fill(value, at, at + N);
  }
}

/** Results and gradients are the oracle's, and a hidden number has no gradient at all. */
async function checkPoisoned(suite: KernelUnderTest, testCase: AttentionCase): Promise<void> {
  await checkResults(suite, testCase);
  if (!allows(suite, 'gradients')) return;
  await checkGradients(suite, testCase);
  const gradients = await kernelGradients(suite.create(), testCase);
  for (const [name, { data }] of Object.entries(testCase.arrays)) {
    const wrong = gradients[name]!.findIndex((x, n) => !Number.isFinite(data[n]) && x !== 0);
    if (wrong >= 0) throw new Error(`the gradient of ${name} at hidden entry ${wrong} is not 0`);
  }
}

/** The row of the pair is not finite; every other row is as the oracle has it. */
async function checkSpoiltRow(suite: KernelUnderTest, poison: number): Promise<void> {
  const testCase = caseOf(suite, { sizes, mask: 'causal', bias: '[1, Hq, Sq, Skv]' });
  const { Hq, Sq, Skv, Dv } = sizes;
  const spoilt = 1 * Sq + 2; // head 1, query 2, key 0: in both batch entries
  testCase.arrays.bias!.data[spoilt * Skv] = poison;
  const { output } = await kernelNumbers(suite.create(), testCase);
  const isSpoilt = (n: number) => Math.floor(n / Dv) % (Hq * Sq) === spoilt;
  if (output!.some((x, n) => isSpoilt(n) && Number.isFinite(x))) throw new Error('the spoilt row is finite');
  const rest = (all: Float64Array) => ({ output: all.filter((_, n) => !isSpoilt(n)) });
  const { output: expected } = (suite.oracle ?? attentionOracle)(testCase.oracle);
  expectClose({ actual: rest(output!), expected: rest(expected) });
}
