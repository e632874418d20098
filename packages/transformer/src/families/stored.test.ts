// Models of families as JSON and weights, and what they generate.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { fromConfig, toConfig } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import { loadWeights, readSafetensors, saveWeights } from '@polyhead/weights';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectedOf, kinds, loadModel } from '../fixtures/hugging-face-models';
import { type Decoder, type Encoder, EncoderDecoder, generate, ModelCache } from '../index';

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

describe('weights saved by their names', () => {
  it('are read into a model of the same config', async () => {
    const model = await loadModel<Decoder>('gemma2');
    const file = await saveWeights(model);
    const again = fromConfig<Decoder>(JSON.parse(JSON.stringify(toConfig(model))), kinds);
    await loadWeights(again, await readSafetensors(file));
    const sample = ids(...expectedOf<{ ids: number[][] }>('gemma2').ids);
    expect(numbers(again.apply(sample).logits)).toEqual(numbers(model.apply(sample).logits));
    again.dispose();
    model.dispose();
  });
});

describe('generate', () => {
  it.each(['t5', 'bart'])('gives the same target of %s with caches and without', async (name) => {
    const model = await loadModel<EncoderDecoder>(name);
    const { source } = expectedOf<{ source: number[][] }>(name);
    const of = async (cache?: ModelCache) => {
      const tokens: number[] = [];
      const options = { maxTokens: 6, start: [0], cache };
      for await (const { token } of generate(model, source[0]!, options)) tokens.push(token);
      cache?.dispose();
      return tokens;
    };
    const cache = new ModelCache(model.decoder.cacheShapes(1), (shape) => new GrowingCache(shape));
    expect(await of(cache)).toEqual(await of());
    model.dispose();
  });

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
