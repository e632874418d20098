import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { type AttentionKernel, causal, composed } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HeadPlace, silenceEach, silenceGreedily, silenceInTurn } from './loss-without-heads';
import { silenceHeads } from './silence-heads';

const [E, sizes] = [6, [3, 2]];

/** Two layers, one behind the other, with a way around each; the loss is the mean square to what is wanted. */
let layers: MultiHeadAttention[];
let x: tf.Tensor3D;
let wanted: tf.Tensor3D;
const valueHeadDim = 4;

beforeEach(() => {
  layers = sizes.map(
    (numHeads, n) =>
      new MultiHeadAttention(
        { embedDim: E, numHeads, valueHeadDim, useBias: true, seed: n },
        { name: `${n}` },
      ),
  );
  for (const layer of layers)
    layer.setWeights({ ...layer.getWeights(), 'output/bias': tf.randomNormal([E], 0, 1, 'float32', 5) });
  x = tf.randomNormal([2, 5, E], 0, 1, 'float32', 1);
  wanted = tf.randomNormal([2, 5, E], 0, 1, 'float32', 2);
});
afterEach(() => {
  for (const layer of layers) layer.dispose();
});

const run = (kernel: AttentionKernel) =>
  layers.reduce<tf.Tensor3D>(
    (tokens, layer) => tf.add(tokens, layer.apply({ query: tokens }, { mask: causal(), kernel }).output),
    x,
  );
const loss = (kernel: AttentionKernel) => tf.mean(tf.square(tf.sub(run(kernel), wanted))) as tf.Scalar;
const read = (kernel: AttentionKernel) => tf.tidy(() => loss(kernel).dataSync()[0]!);

/** What it is by definition: the rows of these heads in the output projections are zeros. */
function lossWithZeroRows(places: readonly HeadPlace[]): number {
  const originals = layers.map((layer) => layer.getWeights());
  layers.forEach((layer, n) => {
    const isGone = (row: number) =>
      places.some((place) => place.layer === n && place.head === Math.floor(row / valueHeadDim));
    const keeps = Array.from({ length: sizes[n]! * valueHeadDim }, (_, row) => [Number(!isGone(row))]);
    const kernel = tf.mul(originals[n]!['output/kernel']!, tf.tensor2d(keeps));
    layer.setWeights({ ...originals[n]!, 'output/kernel': kernel });
  });
  const found = read(composed());
  layers.forEach((layer, n) => {
    layer.setWeights(originals[n]!);
  });
  return found;
}

const places = sizes.flatMap((heads, layer) => Array.from({ length: heads }, (_, head) => ({ layer, head })));

describe('silenceEach', () => {
  it('gives the loss with zeros in the rows of each head of the output projection', async () => {
    const { whole, heads } = await silenceEach(loss);
    expect(whole).toBeCloseTo(lossWithZeroRows([]), 6);
    expect(heads).toEqual(places.map((place) => ({ ...place, loss: expect.any(Number) })));
    for (const place of heads) {
      expect(place.loss).toBeCloseTo(lossWithZeroRows([place]), 5);
      expect(Math.abs(place.loss - whole)).toBeGreaterThan(1e-3);
    }
  });

  it('tells how far it is, and leaves nothing', async () => {
    const told: string[] = [];
    const before = memoryNow();
    await silenceEach(loss, { onPass: (done, of) => told.push(`${done}/${of}`) });
    expectSameMemory(before);
    expect(told).toEqual(['1/6', '2/6', '3/6', '4/6', '5/6', '6/6']);
  });

  it('throws what the model throws, and leaves nothing', async () => {
    const before = memoryNow();
    const failing = (kernel: AttentionKernel) => {
      run(kernel);
      throw new Error('no loss');
    };
    await expect(silenceEach(failing)).rejects.toThrow('no loss');
    await expect(silenceEach(loss, { kernels: 1 } as object)).rejects.toThrow(/known options only/);
    expectSameMemory(before);
  });
});

describe('silenceInTurn', () => {
  const order = [places[3]!, places[0]!, places[4]!, places[1]!, places[2]!];

  it('keeps silenced what is, several at a time too', async () => {
    const before = memoryNow();
    const curve = await silenceInTurn(loss, order);
    const byTwo = await silenceInTurn(loss, order, { together: 2 });
    expectSameMemory(before);
    expect(curve.map(({ silenced }) => silenced)).toEqual([1, 2, 3, 4, 5]);
    expect(byTwo.map(({ silenced }) => silenced)).toEqual([2, 4, 5]);
    for (const point of [...curve, ...byTwo])
      expect(point.loss).toBeCloseTo(lossWithZeroRows(order.slice(0, point.silenced)), 5);
  });

  it('refuses heads that the model has not', async () => {
    await expect(silenceInTurn(loss, [{ layer: 2, head: 0 }])).rejects.toThrow(/heads must be of layers/);
    await expect(silenceInTurn(loss, [{ layer: 1, head: 2 }])).rejects.toThrow(/silent heads must be heads/);
    await expect(silenceInTurn(loss, order, { together: 0 })).rejects.toThrow(/together must be/);
  });
});

describe('silenceGreedily', () => {
  it('takes away, each time, the head without which the loss is least', async () => {
    const before = memoryNow();
    const gone = await silenceGreedily(loss);
    expectSameMemory(before);
    expect(gone).toHaveLength(5);
    gone.forEach(({ loss: found }, n) => {
      const earlier = gone.slice(0, n);
      const left = places.filter(
        ({ layer, head }) => !earlier.some((one) => one.layer === layer && one.head === head),
      );
      const best = Math.min(...left.map((place) => lossWithZeroRows([...earlier, place])));
      expect(found).toBeCloseTo(best, 5);
      expect(found).toBeCloseTo(lossWithZeroRows(gone.slice(0, n + 1)), 5);
    });
  });
});

describe('silenceHeads', () => {
  it('gives a silent head no gradient, and the others what they would have', () => {
    const variables = layers.flatMap((layer) => layer.variables.map(({ variable }) => variable));
    const { grads } = tf.variableGrads(() => loss(silenceHeads(composed(), [[1], []])), variables);
    const of = (name: string) => {
      const { variable } = layers[0]!.variables.find((one) => one.name === name)!;
      return tf.split(grads[variable.name]!, 3, name.includes('output') ? 0 : 1);
    };
    for (const name of ['0/query/kernel', '0/key/kernel', '0/value/kernel', '0/output/kernel']) {
      const sizesOfGradients = of(name).map((part) => tf.max(tf.abs(part)).dataSync()[0]!);
      expect(sizesOfGradients[1]).toBe(0);
      expect(Math.min(sizesOfGradients[0]!, sizesOfGradients[2]!)).toBeGreaterThan(0);
    }
  });

  it('serves one pass', () => {
    const kernel = silenceHeads(composed(), [[0], []]);
    read(kernel);
    expect(() => read(kernel)).toThrow(/silent must have a list for each layer; a kernel serves one pass/);
  });

  it.each([3, -1, 0.5])('refuses head %s of 3', (head) => {
    expect(() => read(silenceHeads(composed(), [[head], []]))).toThrow(/counted from 0/);
  });
});
