// One case through a kernel, and through the oracle: results and gradients by name, on the host.
import { type AttendOptions, type AttentionKernel, attend, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { AttentionCase } from './attention-case';
import { centralDifferences, type Numbers, slopeOf, slopesOf, weightedSum } from './gradients';
import { randomTensor, seededRandom } from './inputs';
import { attentionOracle, type HostTensor, type OracleInputs } from './oracle';
import { remember } from './remember';

export type { Numbers } from './gradients';

type Tensors = { readonly [argument: string]: tf.Tensor };

/** What a kernel computes, by its definition in doubles. A result that it never has is left out. */
export type KernelOracle = (inputs: OracleInputs) => {
  readonly output: Float64Array; // [B, Hq, Sq, Dv]
  readonly weights?: Float64Array; // [B, Hq, Sq, Skv], before dropout
  readonly logSumExp?: Float64Array; // [B, Hq, Sq]
  /** Errors may grow with it once it is above 100. */
  readonly maxAbsScore: number;
};

/** The tensor of host numbers, float32. */
export const toTensor = ({ shape, data }: HostTensor) => tf.tensor(Array.from(data), [...shape], 'float32');

/** `toTensor` of each, by name. */
export function toTensors(arrays: { readonly [argument: string]: HostTensor }): Tensors {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, toTensor(array)]));
}

/** The numbers of a tensor, on any backend. */
export async function read(tensor: tf.Tensor): Promise<Float64Array> {
  return Float64Array.from(await tensor.data());
}

/** The numbers of each tensor. */
export async function readAll(tensors: Tensors): Promise<Numbers> {
  const names = Object.keys(tensors);
  const numbers = await Promise.all(names.map((name) => read(tensors[name]!)));
  return Object.fromEntries(names.map((name, n) => [name, numbers[n]!]));
}

/** `read` for tests of backends whose tensors are read synchronously, as `backendTraits` of core tells. */
export const toHost = (tensor: tf.Tensor) => Float64Array.from(tensor.dataSync());

/** `attend`, with its tensors by name. */
export function attendWith(kernel: AttentionKernel, tensors: Tensors, options: AttendOptions) {
  const { query, key, value, bias, sinkLogits, ...own } = tensors;
  const inputs = { query: query as tf.Tensor4D, key: key as tf.Tensor4D, value: value as tf.Tensor4D };
  return attend(kernel, inputs, {
    ...options,
    ...(bias && { bias: bias as tf.Tensor4D }),
    ...(sinkLogits && { sinkLogits: sinkLogits as tf.Tensor1D }),
    ...(Object.keys(own).length > 0 && { tensors: own }),
  });
}

/** What the kernel gives for a case. */
export function kernelNumbers(kernel: AttentionKernel, testCase: AttentionCase): Promise<Numbers> {
  return readAll(kernelResults(kernel, testCase));
}

/** The same as tensors. */
export function kernelResults(kernel: AttentionKernel, testCase: AttentionCase): Tensors {
  const {
    kernel: _,
    state: __,
    ...results
  } = attendWith(kernel, toTensors(testCase.arrays), testCase.options());
  return results;
}

type ResultName = 'output' | 'weights' | 'logSumExp';

/** The results that a case returns. */
export function resultNames({ row }: AttentionCase): readonly ResultName[] {
  return ['output', ...(row.returns ?? [])];
}

/** Random cotangents, one for each result: the gradients are those of Σ result · cotangent, over all results. */
export function cotangentsOf(testCase: AttentionCase): { readonly [name: string]: HostTensor } {
  const { B, Hq, Sq, Skv, Dv } = testCase.row.sizes;
  const shapes = { output: [B, Hq, Sq, Dv], weights: [B, Hq, Sq, Skv], logSumExp: [B, Hq, Sq] };
  const random = seededRandom(B * Hq * Sq + Skv);
  return Object.fromEntries(resultNames(testCase).map((name) => [name, randomTensor(shapes[name], random)]));
}

/** The kernel's gradient for each argument of a case. */
export function kernelGradients(kernel: AttentionKernel, testCase: AttentionCase): Promise<Numbers> {
  const names = Object.keys(testCase.arrays);
  const options = testCase.options();
  const cotangents = Object.entries(cotangentsOf(testCase)).map(
    ([name, array]) => [name, toTensor(array)] as const,
  );
  const loss = (...tensors: tf.Tensor[]) => {
    const results = attendWith(
      kernel,
      Object.fromEntries(names.map((name, n) => [name, tensors[n]!])),
      options,
    );
    const terms = cotangents.map(([name, cotangent]) =>
      tf.sum(tf.mul(results[name as ResultName]!, cotangent)),
    );
    return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
  };
  const gradients = tf.grads(loss)(Object.values(toTensors(testCase.arrays)));
  return readAll(Object.fromEntries(names.map((name, n) => [name, gradients[n]!])));
}

/** What `composed` gives for a case on this backend, which other kernels are compared with. */
export function composedNumbers(testCase: AttentionCase): Promise<Numbers> {
  const compute = () => kernelNumbers(composed(), testCase);
  return remember(['composed', tf.getBackend(), testCase.name], [], compute);
}

/** The same of its gradients. */
export function composedGradients(testCase: AttentionCase): Promise<Numbers> {
  const compute = () => kernelGradients(composed(), testCase);
  return remember(['gradients of composed', tf.getBackend(), testCase.name], [], compute);
}

/** What the oracle gives for a case. */
export function expectedResults(testCase: AttentionCase, oracle: KernelOracle = attentionOracle) {
  return remember(testCase.name, [oracle], () => oracle(testCase.oracle));
}

/**
 * The oracle's slopes for a case, along a random direction of each argument. Where the oracle takes long, along one of
 * all arguments together.
 */
export function expectedSlopes(testCase: AttentionCase, oracle: KernelOracle = attentionOracle) {
  const { B, Hq, Sq, Skv } = testCase.row.sizes;
  const loss = lossOf(testCase, oracle);
  const compute = () =>
    B * Hq * Sq * Skv > 20_000
      ? { 'all arguments': slopeOf(loss, testCase.arrays) }
      : slopesOf(loss, testCase.arrays);
  return remember(['slopes', testCase.name], [oracle], compute);
}

/** The oracle's gradient for each argument of a case, entry by entry. */
export function expectedGradients(testCase: AttentionCase, oracle: KernelOracle = attentionOracle): Numbers {
  const loss = lossOf(testCase, oracle);
  return remember(['gradients', testCase.name], [oracle], () =>
    Object.fromEntries(
      Object.entries(testCase.arrays).map(([name, { data }]) => [name, centralDifferences(loss, data)]),
    ),
  );
}

function lossOf(testCase: AttentionCase, oracle: KernelOracle): () => number {
  const cotangents = Object.entries(cotangentsOf(testCase));
  return () => {
    const results = oracle(testCase.oracle);
    const terms = cotangents.map(([name, { data }]) => weightedSum(results[name as ResultName]!, data));
    return terms.reduce((sum, term) => sum + term, 0);
  };
}
