// Checks that a kernel leaves exactly its results behind: in plain calls, in gradients, after errors, and on the heap.
import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import { attendWith, toTensors } from '../kernel-run';
import { expectFlatHeap, expectSameMemory, heapBytes, memoryNow } from '../memory';
import { allowedCase, allows, caseOf, type KernelUnderTest } from './suite';

/** Everything at once that the kernel does not refuse. */
function richCase(suite: KernelUnderTest) {
  const masks = ['causal dense [1, Hq, Sq, Skv]', 'causal', 'none'] as const;
  return allowedCase(suite, {
    sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 6, D: 3, Dv: 7 },
    mask: masks.find((mask) => allows(suite, `mask: ${mask}`)) ?? 'none',
    returns: ['weights', 'logSumExp'],
    sinkLogits: true,
    bias: '[1, Hq, Sq, Skv]',
    softcap: 2,
    dropout: 0.4,
  });
}

export function memoryChecks(suite: KernelUnderTest): readonly Check[] {
  return [
    {
      name: 'leaves its inputs alone and adds exactly its results to memory',
      run: () => checkResults(suite),
    },
    ...(allows(suite, 'gradients')
      ? [
          {
            name: 'adds exactly the gradients to memory when differentiated',
            run: () => checkGradients(suite),
          },
        ]
      : []),
    {
      name: 'leaves nothing behind when a call is refused, in a gradient too',
      run: () => checkRefused(suite),
    },
    {
      name: 'keeps the heap of the backend flat over repeated calls and gradients',
      timeout: 120_000, // hundreds of calls
      run: () => checkHeap(suite),
    },
  ];
}

/** The sum of the output, of the tensors of the rich case in their order. */
function lossOf(suite: KernelUnderTest, testCase = richCase(suite), options = testCase.options()) {
  const names = Object.keys(testCase.arrays);
  return (...tensors: tf.Tensor[]) => {
    const inputs = Object.fromEntries(names.map((name, n) => [name, tensors[n]!]));
    return tf.sum(attendWith(suite.create(), inputs, options).output) as tf.Scalar;
  };
}

function checkResults(suite: KernelUnderTest): void {
  const testCase = richCase(suite);
  const [tensors, options] = [toTensors(testCase.arrays), testCase.options()];
  const before = memoryNow();
  const { kernel, ...results } = attendWith(suite.create(), tensors, options);
  const added = tf.memory().numTensors - before.numTensors;
  if (added !== Object.keys(results).length)
    throw new Error(`${kernel} left ${added} tensors: ${Object.keys(results)}`);
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensor.isDisposed) throw new Error(`${name} was disposed`);
  }
  tf.dispose(results);
  expectSameMemory(before);
}

function checkGradients(suite: KernelUnderTest): void {
  const testCase = richCase(suite);
  const [tensors, loss] = [toTensors(testCase.arrays), lossOf(suite, testCase)];
  const before = memoryNow();
  const gradients = tf.grads(loss)(Object.values(tensors));
  const added = tf.memory().numTensors - before.numTensors;
  if (added !== gradients.length) throw new Error(`${added} tensors for ${gradients.length} gradients`);
  tf.dispose(gradients);
  expectSameMemory(before);
}

async function checkRefused(suite: KernelUnderTest): Promise<void> {
  const testCase = richCase(suite);
  const [tensors, options] = [toTensors(testCase.arrays), testCase.options()];
  const before = memoryNow();
  const wrong = { ...options, softcap: -1 };
  const refusedCalls = [
    () => attendWith(suite.create(), { ...tensors, value: tensors.query! }, options),
    () => attendWith(suite.create(), tensors, wrong),
    () => tf.grads(lossOf(suite, testCase, wrong))(Object.values(tensors)),
  ];
  for (const call of refusedCalls) {
    const error = await thrownBy(call);
    if (!isAttentionError(error)) throw new Error(`not refused by an AttentionError but: ${error}`);
  }
  expectSameMemory(before);
}

function checkHeap(suite: KernelUnderTest): void {
  // So large that a heap would grow.
  const [Sq, Skv, D] = heapBytes() > 0 ? [64, 128, 32] : [4, 8, 4];
  const testCase = caseOf(suite, {
    sizes: { B: 2, Hq: 4, Hkv: 2, Sq, Skv, D, Dv: D },
    mask: allows(suite, 'mask: causal') ? 'causal' : 'none',
  });
  const tensors = Object.values(toTensors(testCase.arrays));
  const loss = lossOf(suite, testCase);
  const before = memoryNow();
  expectFlatHeap(() => void loss(...tensors), 150);
  if (allows(suite, 'gradients')) expectFlatHeap(() => void tf.grads(loss)(tensors), 60);
  expectSameMemory(before);
}
