// Checks that no option is dropped: each changes the results as it should, or is refused with a reason.
import { attend, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { CaseRow } from '../attention-case';
import type { Refusable } from '../cases';
import { type Check, thrownBy } from '../check';
import { expectClose } from '../expect-close';
import {
  attendWith,
  expectedResults,
  kernelGradients,
  kernelNumbers,
  kernelResults,
  read,
  toTensors,
} from '../kernel-run';
import type { MaskName } from '../mask-kinds';
import { contiguousStorage } from '../stored-key-value';
import { maxError } from '../tolerance';
import { allows, caseOf, type KernelUnderTest } from './suite';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 4, Skv: 5, D: 3, Dv: 6 };

const withOption = {
  bias: { bias: '[1, Hq, Sq, Skv]' },
  softcap: { softcap: 1 },
  sinkLogits: { sinkLogits: true },
  dropout: { dropout: 0.5 },
  scale: { scale: 0.3 },
  weights: { returns: ['weights'] },
  logSumExp: { returns: ['logSumExp'] },
} satisfies { readonly [option in Refusable]?: Omit<CaseRow, 'sizes'> };

export function refusalChecks(suite: KernelUnderTest): readonly Check[] {
  const plain: CaseRow = { sizes, mask: allows(suite, 'mask: causal') ? 'causal' : 'none' };
  const refusedMasks = Object.keys(suite.refuses ?? {}).filter((option) => option.startsWith('mask: '));
  const refuses = (sentence: string, run: () => unknown) => ({
    name: `refuses ${sentence} with a reason`,
    run: () => expectRefused(run),
  });
  return [
    ...Object.entries(withOption).map(([option, row]) =>
      allows(suite, option as Refusable)
        ? { name: `does not drop ${option}`, run: () => checkHonors(suite, plain, row) }
        : refuses(option, () => kernelResults(suite.create(), caseOf(suite, { ...plain, ...row }))),
    ),
    ...refusedMasks.map((option) => {
      const mask = option.slice('mask: '.length) as MaskName;
      return refuses(`a mask: ${mask}`, () => kernelResults(suite.create(), caseOf(suite, { sizes, mask })));
    }),
    allows(suite, 'stored')
      ? { name: 'reads stored keys and values', run: () => checkStored(suite, plain) }
      : refuses('stored keys and values', () => checkStored(suite, plain)),
    ...(allows(suite, 'gradients')
      ? []
      : [refuses('gradients', () => kernelGradients(suite.create(), caseOf(suite, plain)))]),
    refuses('gradients of gradients', () => secondOrder(suite, plain)),
  ];
}

/** Throws unless the call is refused by an UnsupportedError that says why. */
export async function expectRefused(call: () => unknown): Promise<void> {
  const error = await thrownBy(call);
  const hasReason =
    isAttentionError(error) && 'reasons' in error && (error.reasons as readonly string[]).length > 0;
  if (!hasReason) throw error;
}

/** The option's result is there, or the output differs from that without the option. */
async function checkHonors(
  suite: KernelUnderTest,
  plain: CaseRow,
  row: Omit<CaseRow, 'sizes'>,
): Promise<void> {
  const numbers = await kernelNumbers(suite.create(), caseOf(suite, { ...plain, ...row }));
  if (row.returns) {
    if (!row.returns.every((name) => numbers[name]))
      throw new Error(`only ${Object.keys(numbers)} came back`);
    return;
  }
  const without = await kernelNumbers(suite.create(), caseOf(suite, plain));
  if (maxError(numbers.output!, without.output!) < 1e-3) throw new Error('the option changes nothing');
}

async function checkStored(suite: KernelUnderTest, plain: CaseRow): Promise<void> {
  const testCase = caseOf(suite, plain);
  const { query, key, value, ...tensors } = toTensors(testCase.arrays);
  const stored = contiguousStorage(key as tf.Tensor4D, value as tf.Tensor4D);
  const inputs = { query: query as tf.Tensor4D, stored };
  const { output } = attend(suite.create(), inputs, {
    ...testCase.options(),
    ...(suite.tensors && { tensors }),
  });
  const expected = expectedResults(testCase, suite.oracle);
  expectClose({ actual: { output: await read(output) }, expected: { output: expected.output } });
}

function secondOrder(suite: KernelUnderTest, plain: CaseRow): tf.Tensor {
  const testCase = caseOf(suite, plain);
  const tensors = toTensors(testCase.arrays);
  const options = testCase.options();
  const output = (query: tf.Tensor) =>
    tf.sum(tf.square(attendWith(suite.create(), { ...tensors, query }, options).output));
  const first = tf.grad(output);
  return tf.grad((query) => tf.sum(first(query)))(tensors.query!);
}
