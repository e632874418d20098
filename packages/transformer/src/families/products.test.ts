// Whole models whose products run in WebAssembly, weights as floats and in 8 bits, against what transformers computes.
import { quantizeWeights, setDefaultProducts } from '@polyhead/core';
import { denseProducts } from '@polyhead/dense';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ExpectedDecoder,
  type ExpectedEncoder,
  type ExpectedSequenceToSequence,
  expectedOf,
  largestError,
  loadModel,
} from '../fixtures/hugging-face-models';
import type { Decoder, Encoder, EncoderDecoder } from '../index';

const tensorOf = (ids: number[][]) => tf.tensor2d(ids, undefined, 'int32');

/** The largest error of all that transformers tells of a model. */
const errors: Readonly<Record<'decoder' | 'encoder' | 'both', (name: string, model: never) => number>> = {
  decoder(name, model: Decoder) {
    const { ids, logits } = expectedOf<ExpectedDecoder>(name);
    return largestError(model.apply(tensorOf(ids)).logits.dataSync(), logits.flat());
  },
  encoder(name, model: Encoder) {
    const { ids, lengths, hidden } = expectedOf<ExpectedEncoder>(name);
    const rows = model.apply(tensorOf(ids), { lengths }).output.arraySync();
    const S = ids[0]!.length;
    const valid = rows.flatMap((entry, b) => entry.slice(0, lengths[b]!).flat());
    return largestError(
      valid,
      lengths.flatMap((length, b) => hidden.slice(b * S, b * S + length).flat()),
    );
  },
  both(name, model: EncoderDecoder) {
    const { source, sourceLengths, target, logits } = expectedOf<ExpectedSequenceToSequence>(name);
    const actual = model.apply(tensorOf(source), tensorOf(target), { memoryLengths: sourceLengths });
    return largestError(actual.logits.dataSync(), logits.flat());
  },
};

const models = [
  ...(['llama', 'llama31-tied', 'qwen2', 'gemma2', 'gemma3', 'gpt2', 'gpt-neox'] as const).map(
    (name) => [name, 'decoder'] as const,
  ),
  ...(['bert', 'deberta-v2'] as const).map((name) => [name, 'encoder'] as const),
  ...(['t5', 'marian', 'bart'] as const).map((name) => [name, 'both'] as const),
];

describe.each(models)('%s', (name, kind) => {
  beforeEach(({ skip }) => {
    skip(tf.getBackend() !== 'wasm', 'these products are of wasm');
    setDefaultProducts(denseProducts());
  });
  afterEach(() => setDefaultProducts(undefined));

  it('gives the numbers of transformers by products in WebAssembly', async () => {
    const model = await loadModel<Decoder>(name);
    expect(tf.tidy(() => errors[kind](name, model as never))).toBeLessThan(2e-5);
    model.dispose();
  });

  it('gives them nearly with weights of 8 bits, from the same bytes with either product', async () => {
    const model = await loadModel<Decoder>(name);
    const { bytes } = quantizeWeights(model, 'int8');
    expect(bytes).toBeGreaterThan(0);
    const byDense = tf.tidy(() => errors[kind](name, model as never));
    setDefaultProducts(undefined);
    const byTfjs = tf.tidy(() => errors[kind](name, model as never));
    expect(byTfjs).toBeGreaterThan(1e-5); // they are no floats
    expect(byTfjs).toBeLessThan(0.15);
    expect(Math.abs(byDense - byTfjs)).toBeLessThan(2e-3);
    model.dispose();
  });
});
