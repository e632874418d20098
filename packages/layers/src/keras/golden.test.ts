// Models of Keras 2.15 on TensorFlow and of Keras 3.12 on jax, with what they gave: fixtures/keras.
import { readdirSync, readFileSync } from 'node:fs';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { type KerasWeight, loadKerasModel } from '../index';

const folder = new URL('../fixtures/keras/', import.meta.url);
const variants = [MultiHeadAttention, GroupedQueryAttention];

interface Golden {
  readonly topology: object;
  readonly weights: readonly KerasWeight[];
  readonly inputs: readonly KerasWeight[];
  readonly outputs: readonly KerasWeight[];
}

describe.each(readdirSync(folder))('%s', (file) => {
  const golden = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden;

  it('gives what Keras gave, in rows of padding too', async () => {
    const before = tf.memory().numTensors;
    const model = await loadKerasModel(golden.topology, golden.weights, { variants });
    // tfjs leaves tensors of its own behind where it makes recurrent layers.
    if (!file.includes('lstm')) expect(tf.memory().numTensors - before).toBe(model.weights.length);
    const inputs = golden.inputs.map(({ data, shape, dtype }) =>
      tf.tensor([...(data as number[])], [...shape], dtype as 'float32'),
    );
    const outputs = [model.predict(inputs.length > 1 ? inputs : inputs[0]!)].flat();
    expect(outputs.map(({ shape }) => shape)).toEqual(golden.outputs.map(({ shape }) => shape));
    outputs.forEach((output, n) => {
      const actual = output.dataSync();
      const misses = Array.from(golden.outputs[n]!.data).filter(
        (wanted, i) => !(Math.abs(actual[i]! - wanted) <= 3e-5 * Math.max(1, Math.abs(wanted))),
      );
      expect(misses).toEqual([]);
    });
    const { numTensors } = tf.memory();
    tf.dispose(model.predict(inputs.length > 1 ? inputs : inputs[0]!));
    expect(tf.memory().numTensors).toBe(numTensors);
    model.dispose();
  });
});
