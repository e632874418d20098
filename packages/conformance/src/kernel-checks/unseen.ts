// Checks of what no query sees: rows without keys give zeros, and whatever lies in hidden rows never comes out.
import type { AttentionKernel } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type AttentionCase, attentionCase, type CaseRow } from '../attention-case';
import type { Refusable } from '../cases';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { attendWith, kernelGradients, kernelNumbers, readAll } from '../kernel-run';
import { attentionOracle, entryAt, type HostTensor } from '../oracle';
import { checkGradients, checkResults } from './values';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 7, D: 3, Dv: 6 };

export function unseenChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  const allows = (option: Refusable) => !refused.includes(option);
  const returns = (['weights', 'logSumExp'] as const).filter(allows);
  const emptyRows: readonly CaseRow[] = [
    { sizes, returns, mask: 'lengths per row' },
    ...(allows('sinkLogits') ? [{ sizes, returns, mask: 'lengths' as const, sinkLogits: true }] : []),
    ...(allows('bias') ? [{ sizes, returns, bias: '[B, Hq, Sq, Skv] hiding pairs and a row' as const }] : []),
  ];
  const unseenKeys: readonly CaseRow[] = [
    { sizes, returns, mask: 'lengths' },
    { sizes, returns, mask: 'lengths per row' },
    { sizes, returns, mask: 'left padding' },
    { sizes, returns, mask: 'causal', queryStart: 0 },
    { sizes, returns, mask: 'dense [B, 1, 1, Skv]' },
    ...(allows('bias') ? [{ sizes, returns, bias: '[B, 1, 1, Skv] hiding keys' as const }] : []),
  ];
  return [
    ...emptyRows.map((row) => ({
      name: `gives exact zeros for a query that sees no key: ${attentionCase(row).name}`,
      run: () => checkEmptyRows(kernelOf(), attentionCase(row)),
    })),
    { name: 'gives zeros where there is no key at all', run: () => checkNoKeys(kernelOf()) },
    ...unseenKeys.flatMap((row) =>
      [Number.NaN, Number.POSITIVE_INFINITY].map((poison) => ({
        name: `never lets ${poison} in unseen rows out: ${attentionCase(row).name}`,
        async run() {
          const found = poisoned(attentionCase(row), poison);
          await checkResults(kernelOf(), found);
          await checkGradients(kernelOf(), found);
        },
      })),
    ),
    ...(allows('bias') ? [Number.NaN, Number.POSITIVE_INFINITY] : []).map((poison) => ({
      name: `lets ${poison} in a bias spoil its own row only`,
      run: () => checkSpoiltRow(kernelOf(), poison),
    })),
  ];
}

function isSeen(
  { oracle }: AttentionCase,
  at: readonly [b: number, h: number, i: number, j: number],
): boolean {
  const bias = oracle.bias ? entryAt(oracle.bias, at) : 0;
  return oracle.isVisible?.(...at) !== false && bias !== Number.NEGATIVE_INFINITY;
}

const range = (size: number) => [...Array(size).keys()];

/** The query rows [b, h, i] that see nothing, as numbers of rows. */
function emptyRowsOf(found: AttentionCase): number[] {
  const { B, Hq, Sq, Skv } = found.row.sizes;
  return range(B * Hq * Sq).filter((row) => {
    const [b, h, i] = [Math.floor(row / (Hq * Sq)), Math.floor(row / Sq) % Hq, row % Sq];
    return !range(Skv).some((j) => isSeen(found, [b, h, i, j]));
  });
}

async function checkEmptyRows(kernel: AttentionKernel, found: AttentionCase): Promise<void> {
  const { B, Hq, Sq } = found.row.sizes;
  const rows = B * Hq * Sq;
  const empty = emptyRowsOf(found);
  if (empty.length === 0 || empty.length === rows)
    throw new Error(`${empty.length} rows of ${rows} see nothing`);
  const { logSumExp, ...numbers } = await kernelNumbers(kernel, found);
  const gradients = await kernelGradients(kernel, found);
  for (const row of empty) {
    for (const [name, all] of Object.entries({ ...numbers, 'gradient of query': gradients.query! })) {
      const width = all.length / rows;
      if (all.subarray(row * width, (row + 1) * width).some((x) => x !== 0))
        throw new Error(`${name} of row ${row} is not 0`);
    }
  }
  if (logSumExp) {
    const sink = (row: number) =>
      found.arrays.sinkLogits?.data[Math.floor(row / Sq) % Hq] ?? Number.NEGATIVE_INFINITY;
    expectClose({
      actual: { logSumExp: Float64Array.from(empty, (row) => logSumExp[row]!) },
      expected: { logSumExp: Float64Array.from(empty, sink) },
    });
  }
  for (const [name, gradient] of Object.entries(gradients)) {
    if (!gradient.every(Number.isFinite)) throw new Error(`the gradient of ${name} is not finite`);
  }
}

async function checkNoKeys(kernel: AttentionKernel): Promise<void> {
  const { B, Hq, Hkv, Sq, D, Dv } = sizes;
  const tensors = {
    query: tf.ones([B, Hq, Sq, D]),
    key: tf.zeros([B, Hkv, 0, D]),
    value: tf.zeros([B, Hkv, 0, Dv]),
  };
  const { output } = attendWith(kernel, tensors, {});
  const [dQuery] = tf.grads((query: tf.Tensor) =>
    tf.sum(attendWith(kernel, { ...tensors, query }, {}).output),
  )([tensors.query]);
  if (output.shape.join() !== [B, Hq, Sq, Dv].join()) throw new Error(`output is [${output.shape}]`);
  for (const [name, numbers] of Object.entries(await readAll({ output, dQuery: dQuery! }))) {
    if (!numbers.every((x) => x === 0)) throw new Error(`${name} is not zeros`);
  }
}

/** The case with something else in all keys and values that no query of their batch entry sees, and in blind queries. */
function poisoned(found: AttentionCase, poison: number): AttentionCase {
  const { B, Hq, Sq, Skv } = found.row.sizes;
  const unseen = range(B * Skv).filter((n) => {
    const [b, j] = [Math.floor(n / Skv), n % Skv];
    return !range(Hq * Sq).some((row) => isSeen(found, [b, Math.floor(row / Sq), row % Sq, j]));
  });
  if (unseen.length === 0) throw new Error('every key is seen');
  for (const n of unseen) {
    for (const rows of [found.arrays.key!, found.arrays.value!])
      fillToken(rows, Math.floor(n / Skv), n % Skv, poison);
  }
  const D = found.row.sizes.D;
  for (const row of emptyRowsOf(found)) found.arrays.query!.data.fill(poison, row * D, (row + 1) * D);
  return found;
}

/** Every head's row of one token. The oracle reads the same numbers. */
function fillToken({ shape, data }: HostTensor, b: number, s: number, value: number): void {
  const [, H, S, N] = shape as [number, number, number, number];
  for (let h = 0; h < H; h++) {
    const at = ((b * H + h) * S + s) * N;
    data.fill(value, at, at + N);
  }
}

/** The row of the pair is not finite; every other row is as the oracle has it. */
async function checkSpoiltRow(kernel: AttentionKernel, poison: number): Promise<void> {
  const found = attentionCase({ sizes, mask: 'causal', bias: '[1, Hq, Sq, Skv]' });
  const { Hq, Sq, Skv, Dv } = sizes;
  const spoilt = 1 * Sq + 2; // head 1, query 2, key 0: in both batch entries
  found.arrays.bias!.data[spoilt * Skv] = poison;
  const { output } = await kernelNumbers(kernel, found);
  const isSpoilt = (n: number) => Math.floor(n / Dv) % (Hq * Sq) === spoilt;
  if (output!.some((x, n) => isSpoilt(n) && Number.isFinite(x))) throw new Error('the spoilt row is finite');
  const rest = (all: Float64Array) => ({ output: all.filter((_, n) => !isSpoilt(n)) });
  const { output: expected } = attentionOracle(found.oracle);
  expectClose({
    actual: rest(output!),
    expected: rest(expected),
  });
}
