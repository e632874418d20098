import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { safetensorsOf } from '../fixtures/safetensors-of';
import { readSafetensors } from '../safetensors/read-safetensors';
import { loadWeights } from './load-weights';

const counted = (shape: readonly number[], from = 0) => ({
  shape,
  numbers: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, n) => from + n),
});
const variable = (name: string, shape: number[]) => ({ name, variable: tf.variable(tf.zeros(shape)) });

describe('loadWeights', () => {
  it('transposes, cuts, reorders and converts as the table says, and reports it', async () => {
    const model = {
      variables: [
        variable('kernel', [3, 2]),
        variable('keys', [4]),
        variable('halves', [4, 1]),
        variable('gain', [2]),
        variable('bias', [2]),
      ],
    };
    const checkpoint = await readSafetensors(
      safetensorsOf({
        'a.weight': counted([2, 3]),
        'fused.bias': counted([12]),
        'pairs.weight': counted([4, 1]),
        'norm.weight': counted([2]),
        'rope.inv_freq': counted([2]),
      }),
    );
    const before = tf.memory().numTensors;
    const report = await loadWeights(model, checkpoint, {
      variables: {
        kernel: { tensor: ['absent', 'a.weight'], steps: [{ transpose: [1, 0] }] },
        // Two heads, each with queries, keys and values of size 2.
        keys: {
          tensor: 'fused.bias',
          steps: [{ reshape: [2, 3, 2] }, { slice: { axis: 1, start: 1, size: 1 } }, { reshape: [-1] }],
        },
        halves: {
          tensor: 'pairs.weight',
          steps: [{ reshape: [1, 2, 2, 1] }, { transpose: [0, 2, 1, 3] }, { reshape: [4, 1] }],
        },
        gain: { tensor: 'norm.weight', steps: [{ affine: { offset: 1 } }] },
        bias: { tensor: 'absent', optional: true },
      },
      ignored: ['*.inv_freq'],
    });
    expect(tf.memory().numTensors).toBe(before);
    expect(model.variables.map((named) => [...named.variable.dataSync()])).toEqual([
      [0, 3, 1, 4, 2, 5],
      [2, 3, 8, 9],
      [0, 2, 1, 3],
      [1, 2],
      [0, 0],
    ]);
    expect(report).toEqual({
      used: ['a.weight', 'fused.bias', 'pairs.weight', 'norm.weight'],
      missing: ['bias'],
      unused: [],
      transposed: ['kernel'],
      permuted: ['halves'],
      converted: ['gain'],
    });
  });

  it('loads any layer by its own names, where no table is given', async () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, useBias: true }, { name: 'block0' });
    const tensors = layer.variables.map(
      ({ name, variable: { shape } }, n) => [name, counted(shape, n)] as const,
    );
    const checkpoint = await readSafetensors(safetensorsOf(Object.fromEntries(tensors)));
    const { used } = await loadWeights(layer, checkpoint);
    expect(used).toEqual(layer.variables.map(({ name }) => name));
    layer.variables.forEach(({ variable: { shape }, variable: loaded }, n) => {
      expect([...loaded.dataSync()]).toEqual([...counted(shape, n).numbers]);
    });
  });
});
