// Matrices that stay as they lie in the file stand for exactly the numbers that loading as floats gives.
import { expectSameMemory, memoryNow, numbersOf, seededRandom } from '@polyhead/conformance';
import type { Initializer } from '@polyhead/core';
import { withKind } from '@polyhead/core/layer';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openCheckpoint, type StoredTensor } from '../checkpoint';
import { plainType } from '../files/number-types';
import { Q4_0, Q4_1, Q8_0 } from '../gguf/small-blocks';
import { loadModel, type ModelSource } from './load-model';
import { loadWeights } from './load-weights';

const E = 64;
const types = {
  query: ['Q8_0', Q8_0],
  key: ['Q4_0', Q4_0],
  value: ['Q4_1', Q4_1],
  output: ['F32', plainType('F32')],
} as const;
const table = {
  variables: Object.fromEntries(
    Object.keys(types).map((name) => [`${name}/kernel`, { tensor: name, steps: [{ transpose: [1, 0] }] }]),
  ),
};

/** Matrices of random blocks, whose scales are of about 2^-6. */
function checkpointOf() {
  const random = seededRandom(3);
  const parts: Uint8Array[] = [];
  let start = 0;
  const tensors = Object.entries(types).map(([name, [type, numberType]]): [string, StoredTensor] => {
    const { blockSize, blockBytes } = numberType;
    const bytes = Uint8Array.from({ length: ((E * E) / blockSize) * blockBytes }, () =>
      Math.floor(random() * 256),
    );
    const highBytes = { Q8_0: [1], Q4_0: [1], Q4_1: [1, 3], F32: [] }[type];
    for (let at = 0; at < bytes.length; at += blockBytes)
      for (const high of highBytes) bytes[at + high] = 0x20 | (bytes[at + high]! & 0x8f);
    if (type === 'F32') bytes.set(new Uint8Array(Float32Array.from({ length: E * E }, random).buffer));
    parts.push(bytes);
    const tensor = { shape: [E, E], type, byteLength: bytes.length, numberType, start };
    start += bytes.length;
    return [name, tensor];
  });
  const all = new Uint8Array(Buffer.concat(parts));
  const source = {
    size: all.length,
    readBytes: async (from: number, length: number) => all.slice(from, from + length),
  };
  return openCheckpoint(source, { format: 'gguf', metadata: new Map(), tensors: new Map(tensors) });
}

const make = () => new MultiHeadAttention({ embedDim: E, numHeads: 2, useBias: false });

beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());

it('keeps blocks where they are matrices, as the same numbers, in less memory', async () => {
  const before = memoryNow();
  const [floats, blocks] = [make(), make()];
  const full = memoryNow().numBytes - before.numBytes;
  const checkpoint = checkpointOf();
  await loadWeights(floats, checkpoint, table);
  const report = await loadWeights(blocks, checkpoint, table, { keepBlocks: true });
  expect(report.kept).toEqual(['query/kernel', 'key/kernel', 'value/kernel']);
  expect(blocks.variables.map(({ name }) => name)).toEqual(['output/kernel']);
  expect(memoryNow().numBytes - before.numBytes).toBe(full / 2 + ((E * E) / 32) * (34 + 18 + 20) + E * E * 4);
  const [one, other] = [floats.getWeights(), blocks.getWeights()];
  for (const name of Object.keys(one)) expect(numbersOf(other[name]!)).toEqual(numbersOf(one[name]!));
  tf.dispose([one, other]);
  const query = tf.randomNormal([1, 3, E], 0, 1, 'float32', 1);
  const outputs = [floats, blocks].map((layer) => numbersOf(layer.apply({ query }).output));
  outputs[0]!.forEach((y, n) => {
    expect(Math.abs(outputs[1]![n]! - y)).toBeLessThan(1e-3);
  });
  floats.dispose();
  blocks.dispose();
});

it('leaves nothing behind', async () => {
  const before = memoryNow();
  const layer = make();
  await loadWeights(layer, checkpointOf(), table, { keepBlocks: true });
  layer.dispose();
  layer.dispose();
  expectSameMemory(before);
});

it('makes a model of blocks without floats in their place', async () => {
  const before = memoryNow();
  const asked: string[] = [];
  const noting = withKind(
    'noting',
    [],
    (): Initializer => (shape, _, name) => {
      asked.push(name);
      return tf.zeros([...shape]);
    },
  );
  const config = {
    kind: 'MultiHeadAttention',
    config: { embedDim: E, numHeads: 2, useBias: false },
    parts: { initializer: { kind: 'noting' } },
  };
  const kinds = [MultiHeadAttention, noting];
  const load = (options?: { keepBlocks: boolean }) =>
    loadModel<MultiHeadAttention>(checkpointOf(), { config, weights: table }, kinds, options);
  const floats = await load();
  expect(asked.splice(0)).toHaveLength(4);
  const blocks = await load({ keepBlocks: true });
  expect(asked).toEqual(['output/kernel']);
  expect(blocks.variables.map(({ name }) => name)).toEqual(['output/kernel']);
  const [one, other] = [floats.getWeights(), blocks.getWeights()];
  expect(Object.keys(other)).toEqual(Object.keys(one));
  for (const name of Object.keys(one)) expect(numbersOf(other[name]!)).toEqual(numbersOf(one[name]!));
  tf.dispose([one, other]);
  floats.dispose();
  blocks.dispose();
  expectSameMemory(before);
});

it('refuses blocks of another model, and leaves nothing', async () => {
  const before = memoryNow();
  const config = (embedDim: number) => ({
    kind: 'MultiHeadAttention',
    config: { embedDim, numHeads: 2, useBias: false },
  });
  const load = (source: ModelSource) =>
    loadModel(checkpointOf(), source, [MultiHeadAttention], { keepBlocks: true });
  await expect(load({ config: config(2 * E), weights: table })).rejects.toThrow(/must be one of this model/);
  await expect(load({ config: config(E) })).rejects.toThrow(/must be one of this model/);
  await expect(load({ config: config(3), weights: table })).rejects.toThrow(/embedDim/);
  const variables = { ...table.variables, 'gate/kernel': table.variables['query/kernel']! };
  await expect(load({ config: config(E), weights: { variables } })).rejects.toThrow(/gate\/kernel/);
  expectSameMemory(before);
});
