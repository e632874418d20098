// Models of families as JSON and weights, and what they generate.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { fromConfig, toConfig } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectedOf, kinds, loadModel } from '../fixtures/hugging-face-models';
import { type Decoder, type Encoder, EncoderDecoder, generate } from '../index';

const ids = (...rows: number[][]) => tf.tensor2d(rows, undefined, 'int32');
const numbers = (tensor: tf.Tensor) => [...tensor.dataSync()];

describe.each(['gemma2', 'smollm3-window', 'gpt2', 't5', 'bart', 'bert', 'deberta-own'])(
  '%s, stored',
  (name) => {
    it('is made again from JSON, with positions and tables shared as before', async () => {
      const before = memoryNow();
      const model = await loadModel<Decoder | Encoder | EncoderDecoder>(name);
      const json: unknown = JSON.parse(JSON.stringify(toConfig(model)));
      const again = fromConfig<typeof model>(json, kinds);
      expect(again.variables.map((variable) => variable.name)).toEqual(
        model.variables.map((variable) => variable.name),
      );
      tf.tidy(() => again.setWeights(model.getWeights()));
      const sample = expectedOf<Record<string, number[][]>>(name);
      const of = (one: typeof model) =>
        tf.tidy(() => {
          if (one instanceof EncoderDecoder)
            return numbers(one.apply(ids(...sample.source!), ids(...sample.target!)).logits);
          const result = one.apply(ids(...sample.ids!));
          return numbers('logits' in result ? result.logits : result.output);
        });
      expect(of(again)).toEqual(of(model));
      again.dispose();
      model.dispose();
      expectSameMemory(before);
    });
  },
);

describe('generate', () => {
  it('goes on with the tokens of transformers', async () => {
    const model = await loadModel<Decoder>('llama');
    const expected = expectedOf<{ ids: number[][]; greedy: number[][] }>('llama');
    const tokens: number[][] = [[], []];
    for await (const step of generate(model, expected.ids, { maxTokens: 10 }))
      for (const [b, generated] of step.entries()) tokens[b]!.push(generated!.token);
    expect(tokens).toEqual(expected.greedy);
    model.dispose();
  });
});
