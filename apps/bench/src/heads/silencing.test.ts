import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { composed } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { Decoder } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoadedModel } from '../model/loaded-model';
import { loadedOwnModel } from '../model/own/own-model';
import { lossOf, type Rows } from '../train/byte-text';
import { measureLogits } from './logit-shares';
import { measureSilencing, parametersOf, retrain, rowsFor } from './silencing';

const kernel = composed();
const rows: Rows = [[...Buffer.from('Call me Ishmael. ')]];
let loaded: LoadedModel;
/** Two layers of two heads, as they are drawn. */
let tiny: LoadedModel;

beforeAll(async () => {
  loaded = await loadedOwnModel();
  const sizes = { vocabularySize: 256, embedDim: 16, numLayers: 2, seed: 1 };
  const model = new Decoder(
    { ...sizes, norm: { kind: 'rms' }, feedForward: { hiddenDim: 16 } },
    { attention: (parts) => new MultiHeadAttention({ embedDim: 16, numHeads: 2, seed: 1 }, parts) },
  );
  tiny = { ...loaded, model };
});
afterAll(() => {
  loaded.model.dispose();
  tiny.model.dispose();
});

const lossNow = () => tf.tidy(() => lossOf(tiny.model as Decoder, rows, kernel).dataSync()[0]!);

describe('a decoder without heads', () => {
  it('is given rows of a whole text, or fewer where heads are many', () => {
    expect(rowsFor(loaded, 16).map((row) => row.length)).toEqual([97, 97, 97, 97]);
    expect(rowsFor(loaded, 50_000).map((row) => row.length)).toEqual([
      Math.floor(6e11 / (50_000 * parametersOf(loaded))) + 1,
    ]);
  });

  it('loses the same by whichever order, when all heads are gone', async () => {
    const before = memoryNow();
    const { tokens, whole, heads, inTurn, greedily } = await measureSilencing(tiny, rows, { kernel });
    expectSameMemory(before);
    expect(tokens).toBe(16);
    expect(whole).toBeCloseTo(lossNow(), 5);
    expect(heads).toHaveLength(4);
    expect(inTurn.at(-1)!.silenced).toBe(4);
    expect(greedily!.at(-1)!.loss).toBeCloseTo(inTurn.at(-1)!.loss, 4);
    // The first that goes is the same in both.
    expect(greedily![0]!.loss).toBe(Math.min(...heads.map(({ loss }) => loss)));
    expect(inTurn[0]!.loss).toBe(greedily![0]!.loss);
  });

  it('learns the same from a seed, to the bit, and is then what it was', () => {
    const heads = Array.from({ length: 4 }, (_, n) => ({ layer: n >> 1, head: n & 1, loss: n }));
    const found = { tokens: 16, whole: 0, heads, inTurn: [] };
    const settings = { rows, kernel, steps: 2, seed: 3, windows: { batch: 2, length: 8 } };
    const whole = lossNow();
    const before = memoryNow();
    const first = retrain(tiny, found, settings);
    expectSameMemory(before);
    expect(lossNow()).toBe(whole);
    expect(retrain(tiny, found, settings)).toEqual(first);
    expect(first.map(({ silenced }) => silenced)).toEqual([0, 1, 2]);
    expect(first[0]!.before).toBe(whole);
    for (const { before: untrained, after } of first) expect(after).not.toBe(untrained);
  });
});

describe('measureLogits', () => {
  it('names the next token, and what each part adds to it', () => {
    const before = memoryNow();
    const { next, parts, logit, error } = measureLogits(loaded, 'Call me Ishmae', kernel);
    expectSameMemory(before);
    expect(next).toBe('l');
    expect(error).toBeLessThan(1e-4);
    expect(parts.map(({ part }) => part.kind)).toEqual([
      'embedding',
      ...[1, 2, 3, 4].flatMap(() => ['head', 'head', 'head', 'head', 'feedForward']),
    ]);
    const logits = tf.tidy(() => {
      const ids = tf.tensor2d([[...Buffer.from('Call me Ishmae')]], undefined, 'int32');
      const { logits: all } = (loaded.model as Decoder).apply(ids, { logits: 'last', kernel });
      return [...all.dataSync()];
    });
    const mean = logits.reduce((sum, x) => sum + x, 0) / logits.length;
    expect(logit).toBeCloseTo(Math.max(...logits) - mean, 3);
    for (const { raises } of parts) expect(raises).toHaveLength(3);
  });
});
