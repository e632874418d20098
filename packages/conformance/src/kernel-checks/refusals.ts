// Checks that no option is dropped: each changes what comes out as it should, or is refused with a reason.
import { type AttentionKernel, attend, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { attentionCase, type CaseRow } from '../attention-case';
import type { Refusable } from '../cases';
import { type Check, thrownBy } from '../check';
import { expectClose } from '../expect-close';
import { attendWith, kernelNumbers, kernelResults, read, toTensors } from '../kernel-run';
import { attentionOracle } from '../oracle';
import { contiguousStorage } from '../stored-key-value';
import { maxError } from '../tolerance';

const plain: CaseRow = { sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 4, Skv: 5, D: 3, Dv: 6 }, mask: 'causal' };

const withOption = {
  bias: { ...plain, bias: '[1, Hq, Sq, Skv]' },
  softcap: { ...plain, softcap: 1 },
  sinkLogits: { ...plain, sinkLogits: true },
  dropout: { ...plain, dropout: 0.5 },
  weights: { ...plain, returns: ['weights'] },
  logSumExp: { ...plain, returns: ['logSumExp'] },
} satisfies { readonly [option in Refusable]?: CaseRow };

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
        run: () =>
          refuses
            ? expectRefused(() => kernelResults(kernelOf(), attentionCase(row)))
            : checkHonours(kernelOf(), row),
      };
    }),
    {
      name: refused.includes('stored')
        ? 'refuses stored keys and values with a reason'
        : 'reads stored keys and values',
      run: () =>
        refused.includes('stored') ? expectRefused(() => checkStored(kernelOf())) : checkStored(kernelOf()),
    },
    { name: 'refuses gradients of gradients with a reason', run: () => checkSecondOrder(kernelOf()) },
  ];
}

/** Throws unless the call is refused by an UnsupportedError that says why. */
export async function expectRefused(call: () => unknown): Promise<void> {
  const error = await thrownBy(call);
  const says =
    isAttentionError(error) && 'reasons' in error && (error.reasons as readonly string[]).length > 0;
  if (!says) throw error;
}

/** The option's result is there, or the output differs from that without the option. */
async function checkHonours(kernel: AttentionKernel, row: CaseRow): Promise<void> {
  const numbers = await kernelNumbers(kernel, attentionCase(row));
  if (row.returns) {
    if (!row.returns.every((name) => numbers[name]))
      throw new Error(`only ${Object.keys(numbers)} came back`);
    return;
  }
  const without = await kernelNumbers(kernel, attentionCase(plain));
  if (maxError(numbers.output!, without.output!) < 1e-3) throw new Error('the option changes nothing');
}

async function checkStored(kernel: AttentionKernel): Promise<void> {
  const found = attentionCase(plain);
  const { query, key, value } = toTensors(found.arrays);
  const stored = contiguousStorage(key as tf.Tensor4D, value as tf.Tensor4D);
  const { output } = attend(kernel, { query: query as tf.Tensor4D, stored }, found.options());
  const expected = attentionOracle(found.oracle);
  expectClose({ actual: { output: await read(output) }, expected: { output: expected.output } });
}

function checkSecondOrder(kernel: AttentionKernel): Promise<void> {
  const found = attentionCase(plain);
  const tensors = toTensors(found.arrays);
  const options = found.options();
  const output = (query: tf.Tensor) =>
    tf.sum(tf.square(attendWith(kernel, { ...tensors, query }, options).output));
  const first = tf.grad(output);
  return expectRefused(() => tf.grad((query) => tf.sum(first(query)))(tensors.query!));
}
