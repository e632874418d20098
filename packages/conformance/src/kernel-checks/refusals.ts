// Checks that no option is dropped: each changes what comes out as it should, or is refused with a reason.
import { type AttendOptions, type AttentionKernel, attend, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type AttentionCase, attentionCase, type CaseRow } from '../attention-case';
import type { Refusable } from '../cases';
import { type Check, thrownBy } from '../check';
import { expectClose } from '../expect-close';
import { attendWith, kernelNumbers, toHost, toTensors } from '../kernel-run';
import { attentionOracle, type OracleInputs } from '../oracle';
import { relativeKinds } from '../relative-tables';
import { contiguousStorage } from '../stored-key-value';
import { maxError } from '../tolerance';

const plain: CaseRow = { sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 4, Skv: 5, D: 3, Dv: 6 }, mask: 'causal' };

const withOption: { readonly [option in Refusable]: CaseRow } = {
  bias: { ...plain, bias: '[1, Hq, Sq, Skv]' },
  softcap: { ...plain, softcap: 1 },
  sinkLogits: { ...plain, sinkLogits: true },
  dropout: { ...plain, dropout: 0.5 },
  weights: { ...plain, returns: ['weights'] },
  logSumExp: { ...plain, returns: ['logSumExp'] },
};

export function refusalChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  return [
    ...Object.entries(withOption).map(([option, row]) => {
      const refuses = refused.includes(option as Refusable);
      const sentence = refuses ? `refuses ${option} with a reason` : `does not drop ${option}`;
      return {
        name: sentence,
        run: () => (refuses ? checkRefuses(kernelOf(), row) : checkHonours(kernelOf(), row)),
      };
    }),
    ...Object.entries(relativeKinds).map(([name, kind]) => ({
      name: `honours or refuses relative tables: ${name}`,
      run() {
        const { tables, oracle } = kind(plain.sizes);
        checkHonoursOrRefuses(kernelOf(), { options: { relative: tables() }, oracle });
      },
    })),
    {
      name: 'honours or refuses stored keys and values',
      run: () => checkHonoursOrRefuses(kernelOf(), { options: {}, oracle: {}, stored: true }),
    },
    { name: 'refuses gradients of gradients with a reason', run: () => checkSecondOrder(kernelOf()) },
  ];
}

/** An UnsupportedError that says why. */
function isRefusal(error: unknown): boolean {
  return isAttentionError(error) && 'reasons' in error && (error.reasons as readonly string[]).length > 0;
}

function checkRefuses(kernel: AttentionKernel, row: CaseRow): void {
  const error = thrownBy(() => kernelNumbers(kernel, attentionCase(row)));
  if (!isRefusal(error)) throw error;
}

/** The option's result is there, or the output differs from that without the option. */
function checkHonours(kernel: AttentionKernel, row: CaseRow): void {
  const numbers = kernelNumbers(kernel, attentionCase(row));
  if (row.returns) {
    if (!row.returns.every((name) => numbers[name]))
      throw new Error(`only ${Object.keys(numbers)} came back`);
    return;
  }
  const without = kernelNumbers(kernel, attentionCase(plain));
  if (maxError(numbers.output!, without.output!) < 1e-3) throw new Error('the option changes nothing');
}

interface Extra {
  readonly options: AttendOptions;
  readonly oracle: Partial<OracleInputs>;
  readonly stored?: boolean;
}

function checkHonoursOrRefuses(kernel: AttentionKernel, { options, oracle, stored = false }: Extra): void {
  const found = attentionCase(plain);
  let actual: Float64Array;
  try {
    actual = outputOf(kernel, found, { options, stored });
  } catch (error) {
    if (isRefusal(error)) return;
    throw error;
  }
  const { output, maxAbsScore } = attentionOracle({ ...found.oracle, ...oracle });
  expectClose({ actual: { output: actual }, expected: { output }, maxAbsScore });
}

function outputOf(
  kernel: AttentionKernel,
  found: AttentionCase,
  { options, stored }: { options: AttendOptions; stored: boolean },
): Float64Array {
  const tensors = toTensors(found.arrays);
  const all = { ...found.options(), ...options };
  if (!stored) return toHost(attendWith(kernel, tensors, all).output);
  const rows = contiguousStorage(tensors.key as tf.Tensor4D, tensors.value as tf.Tensor4D);
  return toHost(attend(kernel, { query: tensors.query as tf.Tensor4D, stored: rows }, all).output);
}

function checkSecondOrder(kernel: AttentionKernel): void {
  const found = attentionCase(plain);
  const tensors = toTensors(found.arrays);
  const options = found.options();
  const output = (query: tf.Tensor) =>
    tf.sum(tf.square(attendWith(kernel, { ...tensors, query }, options).output));
  const first = tf.grad(output);
  const error = thrownBy(() => tf.grad((query) => tf.sum(first(query)))(tensors.query!));
  if (!isRefusal(error)) throw error;
}
