// Checks of what must not matter: later tokens, other batch entries, the order in which keys lie.
import { type AttentionKernel, dense } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { attentionCase } from '../attention-case';
import type { Refusable } from '../cases';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { tabulate } from '../inputs';
import { attendWith, kernelNumbers, read, toTensor, toTensors } from '../kernel-run';
import { attentionOracle, entryAt, type HostTensor } from '../oracle';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 7, D: 3, Dv: 6 };

export function independenceChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  return [
    { name: 'never lets a future key matter, to results or gradients', run: () => checkFuture(kernelOf()) },
    { name: 'keeps batch entries apart', run: () => checkBatchEntries(kernelOf()) },
    {
      name: 'gives the same when keys, values, mask and bias are put in another order',
      run: () => checkPermuted(kernelOf(), !refused.includes('bias')),
    },
  ];
}

/** With 5 queries and 7 keys the first two queries see keys 0 to 3. */
async function checkFuture(kernel: AttentionKernel): Promise<void> {
  const found = attentionCase({ sizes, mask: 'causal' });
  const [queries, keys] = [2, 4];
  const early = (tensors: { [name: string]: tf.Tensor }) =>
    tf.slice(attendWith(kernel, tensors, found.options()).output, [0, 0, 0, 0], [-1, -1, queries, -1]);
  const tensors = toTensors(found.arrays);
  const before = await read(early(tensors));
  const isFuture = toTensor(tabulate([1, 1, sizes.Skv, 1], (_b, _h, j) => Number(j >= keys)));
  const changed = (x: tf.Tensor) => tf.add(tf.mul(x, tf.add(isFuture, 1)), isFuture);
  const after = await read(early({ ...tensors, key: changed(tensors.key!), value: changed(tensors.value!) }));
  if (before.some((x, n) => x !== after[n]))
    throw new Error('a future key changed the output of an earlier query');

  const loss = (key: tf.Tensor, value: tf.Tensor) => tf.sum(tf.square(early({ ...tensors, key, value })));
  for (const gradient of tf.grads(loss)([tensors.key!, tensors.value!])) {
    const [past, future] = await Promise.all(tf.split(gradient, [keys, sizes.Skv - keys], 2).map(read));
    if (future!.some((x) => x !== 0)) throw new Error('an earlier query has a gradient at a future key');
    if (!past!.some((x) => x !== 0)) throw new Error('there is no gradient at all');
  }
}

async function checkBatchEntries(kernel: AttentionKernel): Promise<void> {
  const found = attentionCase({ sizes, mask: 'causal' });
  const { output: before } = (await kernelNumbers(kernel, found)) as { output: Float64Array };
  for (const { data } of Object.values(found.arrays)) {
    for (let n = data.length / 2; n < data.length; n++) data[n] = 1 - data[n]!;
  }
  const { output: after } = (await kernelNumbers(kernel, found)) as { output: Float64Array };
  const half = before.length / 2;
  if (before.some((x, n) => n < half && x !== after[n]))
    throw new Error('batch entry 1 changed the output of entry 0');
  if (!before.some((x, n) => n >= half && x !== after[n])) throw new Error('batch entry 1 did not change');
}

async function checkPermuted(kernel: AttentionKernel, withBias: boolean): Promise<void> {
  const mask = 'dense [B, Hq, Sq, Skv]';
  const found = attentionCase({ sizes, mask, ...(withBias && { bias: '[1, Hq, Sq, Skv]' }) });
  const { B, Hq, Sq, Skv } = sizes;
  const placed = (j: number) => (3 * j + 2) % Skv;
  const along = (axis: 2 | 3, x: HostTensor) =>
    toTensor(
      tabulate(x.shape, (...at) =>
        entryAt(
          x,
          at.map((n, m) => (m === axis ? placed(n) : n)),
        ),
      ),
    );
  const { query, key, value, bias } = found.arrays;
  const tensors = {
    query: toTensor(query!),
    key: along(2, key!),
    value: along(2, value!),
    ...(bias && { bias: along(3, bias) }),
  };
  const visible = tabulate([B, Hq, Sq, Skv], (b, h, i, j) =>
    Number(found.oracle.isVisible!(b, h, i, placed(j))),
  );
  const hidden = dense(tf.cast(toTensor(visible), 'bool'));
  const { output, maxAbsScore } = attentionOracle(found.oracle);
  expectClose({
    actual: { output: await read(attendWith(kernel, tensors, { mask: hidden }).output) },
    expected: { output },
    maxAbsScore,
  });
}
