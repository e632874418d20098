// Gradients of whole models against those of torch: of mean(y sin(n)), where y is what the model gives and n counts its
// numbers, so that each of them counts differently. Float64 in torch, but float32 of bert, deberta-v2 and marian.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { fromConfig } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { loadWeights, readSafetensors } from '@polyhead/weights';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  configOf,
  expectedOf,
  fileOf,
  kinds,
  largestError,
  loadModel,
} from '../fixtures/hugging-face-models';
import { configFromHuggingFace, type Decoder, Encoder, EncoderDecoder } from '../index';

type Model = Decoder | Encoder | EncoderDecoder;
const tensorOf = (ids: number[][]) => tf.tensor2d(ids, undefined, 'int32');

/** What the model gives of its sample: [numbers]. */
function outputOf(model: Model, sample: Record<string, number[][]>): tf.Tensor1D {
  if (model instanceof EncoderDecoder) {
    const call = { memoryLengths: sample.sourceLengths as unknown as number[] };
    return model.apply(tensorOf(sample.source!), tensorOf(sample.target!), call).logits.flatten();
  }
  if (!(model instanceof Encoder)) return model.apply(tensorOf(sample.ids!)).logits.flatten();
  const lengths = sample.lengths as unknown as number[];
  const { output } = model.apply(tensorOf(sample.ids!), { lengths });
  return tf.concat(lengths.map((length, b) => tf.slice(output, [b, 0, 0], [1, length, -1]).flatten()));
}

function lossOf(model: Model, sample: Record<string, number[][]>): tf.Scalar {
  const output = outputOf(model, sample);
  const factors = Float32Array.from({ length: output.size }, (_, n) => Math.sin(n));
  return tf.mean(tf.mul(output, tf.tensor1d(factors)));
}

/** The gradients of torch, by the names of our variables: they are cut and transposed as the weights are. */
async function expectedGradients(name: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const { config, weights } = configFromHuggingFace(configOf(name));
  const variables = Object.entries(weights.variables).map(([ours, { steps, ...source }]) => [
    ours,
    { ...source, steps: steps?.filter((step) => !('affine' in step)) },
  ]);
  const model = fromConfig<Model>(config, kinds);
  const table = { ...weights, variables: Object.fromEntries(variables) };
  await loadWeights(model, await readSafetensors(fileOf(name, 'gradients.safetensors')), table);
  const numbers = model.variables.map(
    ({ name: ours, variable }) => [ours, [...variable.dataSync()]] as const,
  );
  model.dispose();
  return new Map(numbers);
}

const largestOf = (numbers: readonly number[]) =>
  numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);

describe.each(['llama31-tied', 'gemma2', 'gpt2', 'gpt-neox', 't5', 'marian', 'bert', 'deberta-v2'])(
  '%s',
  (name) => {
    it('has the gradients of torch, and leaves nothing else', async () => {
      const expected = await expectedGradients(name);
      const model = await loadModel<Model>(name);
      const sample = expectedOf(name) as Record<string, number[][]>;
      const variables = model.variables.map(({ variable }) => variable);
      const before = memoryNow();
      const { value, grads } = tf.variableGrads(() => lossOf(model, sample), variables);
      for (const { name: ours, variable } of model.variables) {
        if (ours === 'decoder/head/bias') continue; // a buffer in torch, which it does not train
        // A bias of keys changes nothing, where no position method turns them: its gradient is rounding.
        const [numbers, wanted] = [grads[variable.name]!.dataSync(), expected.get(ours)!];
        const error = largestError(numbers, wanted) * largestOf(wanted);
        expect(error, ours).toBeLessThan(1e-4 * Math.max(largestOf(wanted), 1e-4));
      }
      tf.dispose([value, grads]);
      expectSameMemory(before);
      model.dispose();
    });
  },
);

describe('a kernel with a backward pass of its own', () => {
  it('gives the same gradients', async () => {
    const model = await loadModel<Decoder>('gemma2');
    const sample = expectedOf('gemma2') as Record<string, number[][]>;
    const variables = model.variables.map(({ variable }) => variable);
    const ids = tensorOf(sample.ids!);
    const gradientsWith = (kernel?: ReturnType<typeof flash>) =>
      tf.variableGrads(() => tf.mean(tf.square(model.apply(ids, { kernel }).logits)), variables).grads;
    const [composed, fused] = [gradientsWith(), gradientsWith(flash())];
    for (const { name } of variables)
      expect(largestError(fused[name]!.dataSync(), [...composed[name]!.dataSync()]), name).toBeLessThan(1e-4);
    model.dispose();
  });
});
