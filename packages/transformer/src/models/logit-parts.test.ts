// Parts of the logits: their sum is the logits, and each is what loops over doubles give.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attention, config, ids, numbers } from '../fixtures/small-models';
import { Decoder, type DecoderConfig } from '../index';

const [V, E, H] = [config.vocabularySize, config.embedDim, 2];
const tokens = () => ids([3, 1, 4, 1, 5], [9, 2, 6, 5, 3]);

/** Every variable is drawn, gains, offsets and biases too. */
const decoder = (own: Partial<DecoderConfig>, attend = attention) =>
  new Decoder(
    { ...config, ...own },
    {
      attention: attend,
      initializer: (shape, seed) =>
        tf.randomNormal([...shape], shape.length === 1 ? 1 : 0, 0.5, 'float32', seed),
    },
  );

const layerNorm: Partial<DecoderConfig> = {
  norm: { kind: 'layer' },
  feedForward: { hiddenDim: 12 },
  headBias: true,
  logitScale: 0.5,
};
const biased = (parts: Parameters<typeof attention>[0]) =>
  new MultiHeadAttention({ embedDim: E, numHeads: H, valueHeadDim: 5, useBias: true, seed: 6 }, parts);
const grouped = (parts: Parameters<typeof attention>[0]) =>
  new GroupedQueryAttention(
    { embedDim: E, numHeads: 4, numKeyValueHeads: 2, outputGate: 'number', seed: 6 },
    { ...parts, position: rotary({ headDim: 2 }) },
  );

describe('Decoder.logitParts', () => {
  it.each<[string, () => Decoder, number]>([
    ['of a Llama-like decoder', () => decoder({ head: 'tied', embeddingScale: 3 }), 1 + 3 * (H + 1)],
    ['with offsets and biases', () => decoder(layerNorm, biased), 1 + 3 * (H + 2) + 1],
    [
      'of blocks in parallel',
      () => decoder({ ...layerNorm, parallel: true, headBias: false }),
      1 + 3 * (H + 1) + 1,
    ],
    ['of gated, grouped heads', () => decoder({}, grouped), 1 + 3 * (4 + 1)],
    ['without a last norm', () => decoder({ finalNorm: false }), 1 + 3 * (H + 1)],
  ])('sums to the logits %s', (_, make, count) => {
    const model = make();
    const prompt = tokens();
    const before = memoryNow();
    const { parts, logits } = model.logitParts(prompt);
    expect(tf.memory().numTensors - before.numTensors).toBe(1);
    expect(logits.shape).toEqual([count, 2, V]);
    expect(parts).toHaveLength(count);
    const sum = numbers(tf.sum(logits, 0));
    const whole = numbers(model.apply(prompt, { logits: 'last' }).logits);
    const largest = Math.max(...whole.map(Math.abs));
    expect(sum).toEqual(whole.map((x) => expect.closeTo(x, 4 - Math.ceil(Math.log10(largest)))));
    model.dispose();
  });

  it('gives each head what its rows of the output projection add, in doubles', () => {
    const model = decoder({ numLayers: 1 });
    const weights = model.getWeights();
    const matrix = (name: string) => weights[name]!.arraySync() as number[][];
    const times = (x: readonly number[], m: readonly (readonly number[])[]) =>
      m[0]!.map((_, j) => x.reduce((sum, value, i) => sum + value * m[i]![j]!, 0));
    const rms = (x: readonly number[]) => Math.sqrt(x.reduce((sum, y) => sum + y * y, 0) / E + 1e-6);
    const gain = (name: string) => weights[name]!.arraySync() as number[];
    const embedded = [3, 1, 4, 1, 5].map((id) => matrix('embedding/table')[id]!);
    const normal = embedded.map((x) => x.map((y, i) => (y / rms(x)) * gain('block0/attentionNorm/gain')[i]!));
    const projected = (name: string) =>
      normal.map((x) => times(x, matrix(`block0/attention/${name}/kernel`)));
    const [query, key, value] = ['query', 'key', 'value'].map(projected) as [
      number[][],
      number[][],
      number[][],
    ];
    const heads = Array.from({ length: H }, (_, h) => {
      const own = (row: readonly number[]) => row.slice(h * 4, h * 4 + 4);
      const scores = key.map((k) => own(k).reduce((sum, x, i) => sum + x * own(query[4]!)[i]!, 0) / 2);
      const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
      const output = own(value[0]!).map((_, i) =>
        value.reduce((sum, v, j) => sum + (Math.exp(scores[j]!) / total) * own(v)[i]!, 0),
      );
      return times(output, matrix('block0/attention/output/kernel').slice(h * 4, h * 4 + 4));
    });
    const attended = embedded[4]!.map((x, i) => x + heads[0]![i]! + heads[1]![i]!);
    const inner = attended.map((x, i) => (x / rms(attended)) * gain('block0/feedForwardNorm/gain')[i]!);
    const forward = (name: string, x: readonly number[]) =>
      times(x, matrix(`block0/feedForward/${name}/kernel`));
    const up = forward('up', inner);
    const mapped = forward(
      'down',
      forward('gate', inner).map((x, i) => (x / (1 + Math.exp(-x))) * up[i]!),
    );
    const last = attended.map((x, i) => x + mapped[i]!);
    const logitsOf = (part: readonly number[]) =>
      times(
        part.map((x, i) => (x / rms(last)) * gain('finalNorm/gain')[i]!),
        matrix('head/kernel'),
      );
    const { parts, logits } = model.logitParts(ids([3, 1, 4, 1, 5]));
    expect(parts).toEqual([
      { kind: 'embedding' },
      { kind: 'head', layer: 0, head: 0 },
      { kind: 'head', layer: 0, head: 1 },
      { kind: 'feedForward', layer: 0 },
    ]);
    const expected = [embedded[4]!, ...heads, mapped].flatMap(logitsOf);
    expect(numbers(logits)).toEqual(expected.map((x) => expect.closeTo(x, 4)));
    model.dispose();
  });

  it('refuses where tokens are no sum, and leaves nothing', () => {
    const prompt = tokens();
    const post = decoder({ normPlacement: 'post' });
    const sandwich = decoder({ normPlacement: 'sandwich' });
    const cross = new Decoder(config, { attention, crossAttention: attention });
    const headless = (parts: Parameters<typeof attention>[0]) => {
      const layer = attention(parts);
      return Object.assign(Object.create(layer), { getWeights: () => ({}) }) as typeof layer;
    };
    const other = decoder({}, headless);
    const before = memoryNow();
    expect(() => post.logitParts(prompt)).toThrow(/norms post stand behind what layers add/);
    expect(() => sandwich.logitParts(prompt)).toThrow(/norms sandwich/);
    expect(() => cross.logitParts(prompt)).toThrow(/it has cross-attention/);
    expect(() => other.logitParts(prompt)).toThrow(
      /Decoder.logitParts: .*\n.*it has no variable output\/kernel/,
    );
    expect(() => other.logitParts(prompt, { cache: 1 } as object)).toThrow(/known options only/);
    expect(() => other.logitParts(tf.ones([1, 2]))).toThrow(/ids must be int32/);
    expect(tf.memory().numTensors - before.numTensors).toBe(1);
    for (const model of [post, sandwich, cross, other]) model.dispose();
  });

  it('leaves memory flat', () => {
    const model = decoder({});
    const prompt = tokens();
    const before = memoryNow();
    for (let n = 0; n < 5; n++) model.logitParts(prompt).logits.dispose();
    expectSameMemory(before);
    model.dispose();
  });
});
