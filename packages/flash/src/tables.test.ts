// Tables looked up by distance where they have no row for it.
import {
  attentionCase,
  expectClose,
  type HostTensor,
  type Numbers,
  randomTensor,
  seededRandom,
  toHost,
  toTensors,
} from '@polyhead/conformance';
import { type AttentionKernel, attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { fusedKernel } from './fixtures/fused-kernel';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 6, Skv: 7, D: 3, Dv: 5 };
const { Hq, D, Dv } = sizes;
const index = { from: -2 }; // rows for the distances -2 to 0 only

function numbersOf(kernel: AttentionKernel, arrays: { readonly [name: string]: HostTensor }): Numbers {
  const names = Object.keys(arrays);
  const tensors = Object.values(toTensors(arrays));
  const outputOf = (tensors: readonly tf.Tensor[]) => {
    const x = Object.fromEntries(names.map((name, n) => [name, tensors[n]!])) as { [name: string]: never };
    const inputs = { query: x.query!, key: x.key!, value: x.value! };
    const relative = {
      bias: { table: x.biasTable!, index },
      keys: { table: x.keyTable!, index },
      queries: { table: x.queryTable!, index },
      values: { table: x.valueTable!, index },
    };
    return attend(kernel, inputs, { mask: causal(), relative }).output;
  };
  const gradients = tf.grads((...tensors) => tf.sum(tf.square(outputOf(tensors))))(tensors);
  return {
    output: toHost(outputOf(tensors)),
    ...Object.fromEntries(names.map((name, n) => [`gradient of ${name}`, toHost(gradients[n]!)])),
  };
}

describe('a distance that a table has no row for', () => {
  it('adds nothing, as in the default kernel', () => {
    const random = seededRandom(4);
    const arrays = {
      ...attentionCase({ sizes }).arrays,
      biasTable: randomTensor([Hq, 3], random),
      keyTable: randomTensor([1, 3, D], random),
      queryTable: randomTensor([Hq, 3, D], random),
      valueTable: randomTensor([1, 3, Dv], random),
    };
    const kernel = fusedKernel({ rowsPerTile: 4, keysPerTile: 3 });
    expectClose({
      actual: numbersOf(kernel, arrays),
      expected: numbersOf(composed(), arrays),
      isGradient: true,
    });
  });
});
