// One case through a kernel, and through the oracle: results and gradients by name, on the host.
import { type AttendOptions, type AttentionKernel, attend } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { AttentionCase } from './attention-case';
import { centralDifferences, weightedSum } from './gradients';
import { randomTensor, seededRandom } from './inputs';
import { attentionOracle, type HostTensor } from './oracle';

/** `output`, `weights`, `logSumExp`; or a gradient for each argument. */
export type Numbers = { readonly [name: string]: Float64Array };

type Tensors = { readonly [argument: string]: tf.Tensor };

export const toTensor = ({ shape, data }: HostTensor) => tf.tensor(Array.from(data), [...shape], 'float32');

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

/** `read` for tests of backends whose tensors can be read at once, as `backendTraits` of core tells. */
export const toHost = (tensor: tf.Tensor) => Float64Array.from(tensor.dataSync());

/** `attend`, with its tensors by name. */
export function attendWith(kernel: AttentionKernel, tensors: Tensors, options: AttendOptions) {
  const { query, key, value, bias, sinkLogits } = tensors;
  const inputs = { query: query as tf.Tensor4D, key: key as tf.Tensor4D, value: value as tf.Tensor4D };
  return attend(kernel, inputs, {
    ...options,
    ...(bias && { bias: bias as tf.Tensor4D }),
    ...(sinkLogits && { sinkLogits: sinkLogits as tf.Tensor1D }),
  });
}

/** What the kernel gives for a case. */
export function kernelNumbers(kernel: AttentionKernel, found: AttentionCase): Promise<Numbers> {
  return readAll(kernelResults(kernel, found));
}

/** The same as tensors. */
export function kernelResults(kernel: AttentionKernel, found: AttentionCase): Tensors {
  const { kernel: _, state: __, ...results } = attendWith(kernel, toTensors(found.arrays), found.options());
  return results;
}

type ResultName = 'output' | 'weights' | 'logSumExp';

/** What a case asks for. */
export function resultNames({ row }: AttentionCase): readonly ResultName[] {
  return ['output', ...((row.returns ?? []) as ResultName[])];
}

/** One number for each number that comes out: the gradients are those of Σ result · cotangent, over all results. */
export function cotangentsOf(found: AttentionCase): { readonly [name: string]: HostTensor } {
  const { B, Hq, Sq, Skv, Dv } = found.row.sizes;
  const shapes = { output: [B, Hq, Sq, Dv], weights: [B, Hq, Sq, Skv], logSumExp: [B, Hq, Sq] };
  const random = seededRandom(B * Hq * Sq + Skv);
  return Object.fromEntries(resultNames(found).map((name) => [name, randomTensor(shapes[name], random)]));
}

/** The kernel's gradient for each argument of a case. */
export function kernelGradients(kernel: AttentionKernel, found: AttentionCase): Promise<Numbers> {
  const names = Object.keys(found.arrays);
  const options = found.options();
  const cotangents = Object.entries(cotangentsOf(found)).map(
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
  const gradients = tf.grads(loss)(Object.values(toTensors(found.arrays)));
  return readAll(Object.fromEntries(names.map((name, n) => [name, gradients[n]!])));
}

/** The same by central differences of the oracle, at these entries of each argument; the others are NaN. */
export function oracleGradients(
  found: AttentionCase,
  entriesOf: (array: Float64Array) => readonly number[],
): Numbers {
  const cotangents = Object.entries(cotangentsOf(found));
  const loss = () => {
    const results = attentionOracle(found.oracle);
    return cotangents.reduce(
      (sum, [name, { data }]) => sum + weightedSum(results[name as ResultName], data),
      0,
    );
  };
  return Object.fromEntries(
    Object.entries(found.arrays).map(([name, { data }]) => [
      name,
      centralDifferences(loss, data, entriesOf(data)),
    ]),
  );
}
