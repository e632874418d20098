// Checks of what a kernel has beside the options of every call: tensors of its own, and a state in place of earlier tokens.
import { attend, type NamedTensors } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { AttentionCase } from '../attention-case';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { centralDifferences, weightedSum } from '../gradients';
import { seededRandom } from '../inputs';
import {
  attendWith,
  cotangentsOf,
  expectedResults,
  kernelNumbers,
  read,
  readAll,
  toTensor,
  toTensors,
} from '../kernel-run';
import { expectSameMemory, memoryNow } from '../memory';
import { attentionOracle } from '../oracle';
import { maxError } from '../tolerance';
import { expectRefused } from './refusals';
import { allows, caseOf, type KernelUnderTest } from './suite';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 6, Skv: 6, D: 3, Dv: 5 };
type Tensors = { readonly [argument: string]: tf.Tensor };

export function stateChecks(suite: KernelUnderTest): readonly Check[] {
  const names = Object.keys(suite.tensors?.(sizes, seededRandom(1)) ?? {});
  return [
    ...names.map((name) => ({
      name: `does not drop its tensor ${name}`,
      run: () => checkHonored(suite, name),
    })),
    { name: 'refuses a tensor that it does not name', run: () => checkUnknown(suite) },
    { name: 'goes on from its state, gradients included, or refuses one', run: () => checkState(suite) },
  ];
}

const causalCase = (suite: KernelUnderTest) =>
  caseOf(suite, { sizes, mask: allows(suite, 'mask: causal') ? 'causal' : 'none' });

async function checkHonored(suite: KernelUnderTest, name: string): Promise<void> {
  const [testCase, other] = [causalCase(suite), causalCase(suite)];
  other.arrays[name]!.data.forEach((x, n, data) => {
    data[n] = x / 2;
  });
  const [before, after] = [
    await kernelNumbers(suite.create(), testCase),
    await kernelNumbers(suite.create(), other),
  ];
  if (maxError(after.output!, before.output!) < 1e-3) throw new Error(`${name} changes nothing`);
}

function checkUnknown(suite: KernelUnderTest): Promise<void> {
  const testCase = causalCase(suite);
  const tensors = { ...toTensors(testCase.arrays), 'no tensor of its own': tf.ones([1]) };
  return expectRefused(() => attendWith(suite.create(), tensors, testCase.options()));
}

async function checkState(suite: KernelUnderTest): Promise<void> {
  const testCase = causalCase(suite);
  const tensors = toTensors(testCase.arrays);
  const kernel = suite.create();
  if (!kernel.takesState) {
    const { query, key, value } = tensors as { [name: string]: tf.Tensor4D };
    const state = { sum: tf.zeros([1]) };
    await expectRefused(() => attend(kernel, { query: query!, key: key!, value: value!, state }));
    await expectRefused(() =>
      attend(kernel, { query: query!, key: key!, value: value! }, { returns: ['state'] }),
    );
    return;
  }
  const { output, maxAbsScore } = expectedResults(testCase, suite.oracle);
  for (const lengths of [[6], [1, 5], [5, 1], [2, 3, 1]]) {
    const before = memoryNow();
    const whole = tf.tidy(() => inParts(suite, testCase, tensors, lengths));
    expectClose({ actual: { output: await read(whole) }, expected: { output }, maxAbsScore });
    whole.dispose();
    expectSameMemory(before);
  }
  if (allows(suite, 'gradients')) await checkGradientBehindState(suite, testCase, tensors);
}

/** The gradients of the last three tokens behind the state of those before them, a constant, entry by entry. */
async function checkGradientBehindState(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  tensors: Tensors,
): Promise<void> {
  const [before, count] = [3, 3];
  const state = stateOf(suite, testCase, before);
  const cotangent = cotangentsOf(testCase).output!;
  const late = (x: tf.Tensor) => (hasTokens(x) ? tokens(x, before, count) : x);
  const names = Object.keys(tensors);
  const loss = (...moved: tf.Tensor[]) => {
    const part = Object.fromEntries(names.map((name, n) => [name, moved[n]!]));
    const { output } = attendBehind(suite, testCase, part, { state });
    return tf.sum(tf.mul(output, late(toTensor(cotangent)))) as tf.Scalar;
  };
  const gradients = tf.grads(loss)(names.map((name) => late(tensors[name]!)));

  const width = sizes.Dv;
  const lateRows = cotangent.data.map((x, n) => (Math.floor(n / width) % sizes.Sq < before ? 0 : x));
  const oracle = suite.oracle ?? attentionOracle;
  const expectedLoss = () => weightedSum(oracle(testCase.oracle).output, lateRows);
  const expected = names.map((name) => {
    const { shape, data } = testCase.arrays[name]!;
    return late(toTensor({ shape, data: centralDifferences(expectedLoss, data) }));
  });
  const named = (all: readonly tf.Tensor[]) =>
    readAll(Object.fromEntries(names.map((name, n) => [name, all[n]!])));
  expectClose({ actual: await named(gradients), expected: await named(expected), isGradient: true });
}

/** The output of the call, so many tokens at a time, each part behind the state of those before it. */
function inParts(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  tensors: Tensors,
  lengths: readonly number[],
): tf.Tensor4D {
  let [from, state]: [number, NamedTensors | undefined] = [0, undefined];
  const outputs = lengths.map((length) => {
    const part = partOf(tensors, from, length);
    from += length;
    const result = attendBehind(suite, testCase, part, { state, returns: ['state'] });
    state = result.state;
    return result.output;
  });
  return outputs.length === 1 ? outputs[0]! : tf.concat(outputs, 2);
}

function stateOf(suite: KernelUnderTest, testCase: AttentionCase, length: number): NamedTensors {
  const part = partOf(toTensors(testCase.arrays), 0, length);
  return attendBehind(suite, testCase, part, { returns: ['state'] }).state!;
}

function attendBehind(
  suite: KernelUnderTest,
  testCase: AttentionCase,
  part: Tensors,
  { state, returns = [] }: { state?: NamedTensors | undefined; returns?: readonly 'state'[] },
) {
  const { query, key, value, ...own } = part as { [name: string]: tf.Tensor4D };
  const inputs = { query: query!, key: key!, value: value!, state };
  return attend(suite.create(), inputs, {
    ...testCase.options(),
    returns,
    ...(suite.tensors && { tensors: own }),
  });
}

function partOf(tensors: Tensors, start: number, length: number): Tensors {
  const entries = Object.entries(tensors);
  return Object.fromEntries(entries.map(([name, x]) => [name, hasTokens(x) ? tokens(x, start, length) : x]));
}

const hasTokens = (x: tf.Tensor) => x.shape[2] === sizes.Skv;

function tokens(x: tf.Tensor, start: number, length: number): tf.Tensor {
  return tf.slice(x, [0, 0, start], [-1, -1, length]);
}
