// Checks that a kernel leaves exactly its results behind: in plain calls, in gradients, after errors, and on the heap.
import { type AttentionKernel, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { attentionCase } from '../attention-case';
import type { Refusable } from '../cases';
import { type Check, thrownBy } from '../check';
import { attendWith, toTensors } from '../kernel-run';
import { expectFlatHeap, expectSameMemory, memoryNow } from '../memory';

/** Everything at once that the kernel does not refuse. */
function richCase(refused: readonly Refusable[]) {
  const allows = (option: Refusable) => !refused.includes(option);
  return attentionCase({
    sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 6, D: 3, Dv: 7 },
    mask: 'causal dense [1, Hq, Sq, Skv]',
    returns: (['weights', 'logSumExp'] as const).filter(allows),
    sinkLogits: allows('sinkLogits'),
    ...(allows('bias') && { bias: '[1, Hq, Sq, Skv]' }),
    ...(allows('softcap') && { softcap: 2 }),
    ...(allows('dropout') && { dropout: 0.4 }),
  });
}

export function memoryChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  const found = richCase(refused);
  const lossOf = (kernel: AttentionKernel, options = found.options()) => {
    const names = Object.keys(found.arrays);
    return (...tensors: tf.Tensor[]) => {
      const inputs = Object.fromEntries(names.map((name, n) => [name, tensors[n]!]));
      return tf.sum(attendWith(kernel, inputs, options).output) as tf.Scalar;
    };
  };
  return [
    {
      name: 'leaves its inputs alone and adds exactly its results to memory',
      run() {
        const [tensors, options] = [toTensors(found.arrays), found.options()];
        const before = memoryNow();
        const { kernel, ...results } = attendWith(kernelOf(), tensors, options);
        const added = tf.memory().numTensors - before.numTensors;
        if (added !== Object.keys(results).length)
          throw new Error(`${kernel} left ${added} tensors: ${Object.keys(results)}`);
        for (const [name, tensor] of Object.entries(tensors)) {
          if (tensor.isDisposed) throw new Error(`${name} was disposed`);
        }
        tf.dispose(results);
        expectSameMemory(before);
      },
    },
    {
      name: 'adds exactly the gradients to memory when differentiated',
      run() {
        const [tensors, loss] = [toTensors(found.arrays), lossOf(kernelOf())];
        const before = memoryNow();
        const gradients = tf.grads(loss)(Object.values(tensors));
        const added = tf.memory().numTensors - before.numTensors;
        if (added !== gradients.length) throw new Error(`${added} tensors for ${gradients.length} gradients`);
        tf.dispose(gradients);
        expectSameMemory(before);
      },
    },
    {
      name: 'leaves nothing behind when a call is refused, in a gradient too',
      async run() {
        const [tensors, options] = [toTensors(found.arrays), found.options()];
        const before = memoryNow();
        const refusedCalls = [
          () => attendWith(kernelOf(), { ...tensors, value: tensors.query! }, options),
          () => attendWith(kernelOf(), tensors, { ...options, softcap: -1 }),
          () => tf.grads(lossOf(kernelOf(), { ...options, softcap: -1 }))(Object.values(tensors)),
        ];
        for (const call of refusedCalls) {
          const error = await thrownBy(call);
          if (!isAttentionError(error)) throw new Error(`not refused by an AttentionError but: ${error}`);
        }
        expectSameMemory(before);
      },
    },
    {
      name: 'keeps the heap of the backend flat over repeated calls and gradients',
      run() {
        const plain = attentionCase({
          sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 64, Skv: 128, D: 32, Dv: 32 },
          mask: 'causal',
        });
        const [tensors, options] = [toTensors(plain.arrays), plain.options()];
        const names = Object.keys(tensors);
        const output = (...inputs: tf.Tensor[]) =>
          attendWith(kernelOf(), Object.fromEntries(names.map((name, n) => [name, inputs[n]!])), options)
            .output;
        const before = memoryNow();
        expectFlatHeap(() => void output(...Object.values(tensors)), 150);
        expectFlatHeap(
          () => void tf.grads((...inputs) => tf.sum(output(...inputs)))(Object.values(tensors)),
          60,
        );
        expectSameMemory(before);
      },
    },
  ];
}
