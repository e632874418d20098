// Checks of what must not matter: later tokens, other batch entries, the order of keys.
import { dense } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { tabulate } from '../inputs';
import { attendWith, expectedResults, kernelNumbers, read, toTensor, toTensors } from '../kernel-run';
import { entryAt, type HostTensor } from '../oracle';
import { allows, caseOf, type KernelUnderTest } from './suite';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 5, Skv: 7, D: 3, Dv: 6 };

export function independenceChecks(suite: KernelUnderTest): readonly Check[] {
  const isCausal = allows(suite, 'mask: causal');
  return [
    ...(isCausal
      ? [{ name: 'never lets a future key matter, to results or gradients', run: () => checkFuture(suite) }]
      : []),
    { name: 'keeps batch entries apart', run: () => checkBatchEntries(suite, isCausal ? 'causal' : 'none') },
    ...(suite.ordered
      ? []
      : [
          {
            name: 'gives the same when keys, values, mask and bias are put in another order',
            run: () => checkPermuted(suite),
          },
        ]),
  ];
}

/** With 5 queries and 7 keys the first two queries see keys 0 to 3. */
async function checkFuture(suite: KernelUnderTest): Promise<void> {
  const testCase = caseOf(suite, { sizes, mask: 'causal' });
  const [queries, keys] = [2, 4];
  const early = (tensors: { [name: string]: tf.Tensor }) =>
    tf.slice(
      attendWith(suite.create(), tensors, testCase.options()).output,
      [0, 0, 0, 0],
      [-1, -1, queries, -1],
    );
  const tensors = toTensors(testCase.arrays);
  const before = await read(early(tensors));
  const isFuture = toTensor(tabulate([1, 1, sizes.Skv, 1], (_b, _h, j) => Number(j >= keys)));
  const changed = (x: tf.Tensor) => tf.add(tf.mul(x, tf.add(isFuture, 1)), isFuture);
  const after = await read(early({ ...tensors, key: changed(tensors.key!), value: changed(tensors.value!) }));
  if (before.some((x, n) => x !== after[n]))
    throw new Error('a future key changed the output of an earlier query');

  if (!allows(suite, 'gradients')) return;
  const loss = (key: tf.Tensor, value: tf.Tensor) => tf.sum(tf.square(early({ ...tensors, key, value })));
  for (const gradient of tf.grads(loss)([tensors.key!, tensors.value!])) {
    const [past, future] = await Promise.all(tf.split(gradient, [keys, sizes.Skv - keys], 2).map(read));
    if (future!.some((x) => x !== 0)) throw new Error('an earlier query has a gradient at a future key');
    if (!past!.some((x) => x !== 0)) throw new Error('there is no gradient at all');
  }
}

async function checkBatchEntries(suite: KernelUnderTest, mask: 'causal' | 'none'): Promise<void> {
  const testCase = caseOf(suite, { sizes, mask });
  const { output: before } = (await kernelNumbers(suite.create(), testCase)) as { output: Float64Array };
  for (const { data } of Object.values(testCase.arrays)) {
    for (let n = data.length / 2; n < data.length; n++) data[n] = 1 - data[n]!;
  }
  const { output: after } = (await kernelNumbers(suite.create(), testCase)) as { output: Float64Array };
  const half = before.length / 2;
  if (before.some((x, n) => n < half && x !== after[n]))
    throw new Error('batch entry 1 changed the output of entry 0');
  if (!before.some((x, n) => n >= half && x !== after[n])) throw new Error('batch entry 1 did not change');
}

async function checkPermuted(suite: KernelUnderTest): Promise<void> {
  const isDense = allows(suite, 'mask: dense [B, Hq, Sq, Skv]');
  const testCase = caseOf(suite, {
    sizes,
    mask: isDense ? 'dense [B, Hq, Sq, Skv]' : 'none',
    ...(allows(suite, 'bias') && { bias: '[1, Hq, Sq, Skv]' }),
  });
  const { B, Hq, Sq, Skv } = sizes;
  const source = (j: number) => (3 * j + 2) % Skv;
  const along = (axis: 2 | 3, x: HostTensor) =>
    toTensor(
      tabulate(x.shape, (...at) =>
        entryAt(
          x,
          at.map((n, m) => (m === axis ? source(n) : n)),
        ),
      ),
    );
  const { query, key, value, bias } = testCase.arrays;
  const tensors = {
    query: toTensor(query!),
    key: along(2, key!),
    value: along(2, value!),
    ...(bias && { bias: along(3, bias) }),
  };
  const visible = tabulate([B, Hq, Sq, Skv], (b, h, i, j) =>
    Number(testCase.oracle.isVisible!(b, h, i, source(j))),
  );
  const options = isDense ? { mask: dense(tf.cast(toTensor(visible), 'bool')) } : {};
  const { output, maxAbsScore } = expectedResults(testCase, suite.oracle);
  expectClose({
    actual: { output: await read(attendWith(suite.create(), tensors, options).output) },
    expected: { output },
    maxAbsScore,
  });
}
