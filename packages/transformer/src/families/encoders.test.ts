// Encoders of Hugging Face, and encoder–decoders, against what transformers computes with them.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { composed, type KeyValueCache } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  type ExpectedEncoder,
  type ExpectedSequenceToSequence,
  expectedOf,
  largestError,
  loadModel,
} from '../fixtures/hugging-face-models';
import type { Encoder, EncoderDecoder } from '../index';

const tolerance = 2e-5;
const kernels = { composed, flash };
const tensorOf = (ids: number[][]) => tf.tensor2d(ids, undefined, 'int32');

/** The rows of tokens that count: those of padding are whatever the original computes. */
function validRows(tensor: tf.Tensor, lengths: readonly number[]): readonly number[] {
  const rows = tensor.arraySync() as number[][][];
  return rows.flatMap((entry, b) => entry.slice(0, lengths[b]!).flat());
}

const validExpected = (rows: number[][], lengths: readonly number[]) => {
  const S = rows.length / lengths.length;
  return lengths.flatMap((length, b) => rows.slice(b * S, b * S + length).flat());
};

describe.each(['bert', 'roberta', 'deberta-v2', 'deberta-own'])('%s', (name) => {
  it('gives the vectors of transformers, and leaves nothing else', async () => {
    const [model, expected] = [await loadModel<Encoder>(name), expectedOf<ExpectedEncoder>(name)];
    const { lengths } = expected;
    for (const kernel of Object.values(kernels)) {
      const ids = tensorOf(expected.ids);
      const before = memoryNow();
      const { output } = model.apply(ids, { lengths, kernel: kernel() });
      const numbers = validRows(output, lengths);
      expect(largestError(numbers, validExpected(expected.hidden, lengths))).toBeLessThan(tolerance);
      output.dispose();
      expectSameMemory(before);
    }
    model.dispose();
  });
});

type MakeCache = (shape: KeyValueCache['shape']) => KeyValueCache;
const caches: Readonly<Record<string, MakeCache>> = {
  growing: (shape) => new GrowingCache(shape),
  static: (shape) => new StaticCache(shape, { capacity: 16 }),
};

describe.each(['t5', 't5-relu', 'marian', 'marian-two-vocabularies', 'bart'])('%s', (name) => {
  it('gives the logits of transformers, and leaves nothing else', async () => {
    const [model, expected] = [
      await loadModel<EncoderDecoder>(name),
      expectedOf<ExpectedSequenceToSequence>(name),
    ];
    const { sourceLengths: memoryLengths } = expected;
    for (const kernel of Object.values(kernels)) {
      const [source, target] = [tensorOf(expected.source), tensorOf(expected.target)];
      const before = memoryNow();
      const { output } = model.encode(source, { lengths: memoryLengths, kernel: kernel() });
      const encoded = validExpected(expected.encoder, memoryLengths);
      expect(largestError(validRows(output, memoryLengths), encoded)).toBeLessThan(tolerance);
      const { logits } = model.apply(source, target, { memoryLengths, kernel: kernel() });
      expect(largestError(logits.dataSync(), expected.logits.flat())).toBeLessThan(tolerance);
      tf.dispose([output, logits]);
      expectSameMemory(before);
    }
    model.dispose();
  });

  it.each(Object.keys(caches))(
    'decodes token by token with %s caches, the memory projected once',
    async (kind) => {
      const [model, expected] = [
        await loadModel<EncoderDecoder>(name),
        expectedOf<ExpectedSequenceToSequence>(name),
      ];
      const { sourceLengths: lengths, target } = expected;
      for (const kernel of Object.values(kernels)) {
        const call = { kernel: kernel() };
        const shapes = model.decoder.cacheShapes(2);
        const make = caches[kind]!;
        const cache = { self: shapes.self.map(make), cross: shapes.cross.map(make) };
        const memory = model.encode(tensorOf(expected.source), { lengths, ...call }).output;
        const parts = [
          target.map((row) => row.slice(0, 2)),
          ...[2, 3, 4, 5].map((at) => target.map((row) => [row[at]!])),
        ];
        const numbers = parts.map((ids, step) => {
          const informed = step === 0 ? { memory, memoryLengths: lengths } : {};
          return model.decoder.apply(tensorOf(ids), { cache, ...call, ...informed }).logits.arraySync();
        });
        expect(cache.cross.every((one) => one.sealed)).toBe(true);
        const rows = [0, 1].flatMap((b) => numbers.flatMap((part) => part[b]!.flat()));
        expect(largestError(rows, expected.logits.flat())).toBeLessThan(tolerance);
        for (const one of [...cache.self, ...cache.cross]) one.dispose();
      }
      model.dispose();
    },
  );
});
