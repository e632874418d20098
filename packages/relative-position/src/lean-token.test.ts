// A token of a cached layer: what it costs, and that rows which a cache reserves give the numbers of rows that it stages.
import { expectSameMemory, heapBytes, memoryNow } from '@polyhead/conformance';
import {
  type AttentionConfig,
  type AttentionParts,
  causal,
  composed,
  type KeyValueCache,
  type LayerCall,
  type PositionMethod,
} from '@polyhead/core';
import { splitAs } from '@polyhead/core/layer';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { QuantizedCache, RingCache, StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { alibi, rotary, shaw } from './index';

const onWasm = process.env.POLYHEAD_BACKEND === 'wasm';
const kernel = flash();
const [E, D] = [32, 8];
const random = (shape: [number, number, number], seed: number) =>
  tf.randomNormal<tf.Rank.R3>(shape, 0, 1, 'float32', seed);

function layerOf(
  config: Partial<AttentionConfig> = {},
  parts: AttentionParts = {},
  Layer = GroupedQueryAttention,
): GroupedQueryAttention {
  return new Layer(
    { embedDim: E, numHeads: 4, numKeyValueHeads: 2, seed: 7, ...config },
    { kernel, position: rotary({ headDim: D }), ...parts },
  );
}

/** Its heads are split before attention sees them, as those of an author who computes with them. */
class SplittingLayer extends GroupedQueryAttention {
  protected override heads(name: 'query' | 'key' | 'value', x: tf.Tensor3D): tf.Tensor4D {
    return splitAs(super.heads(name, x));
  }
}

/** The same cache, whose rows are staged. */
function staging<Cache extends KeyValueCache>(cache: Cache): Cache {
  Object.defineProperty(cache, 'reserve', { value: undefined });
  return cache;
}

beforeAll(() => kernel.prepare?.());

describe('a token of a cached layer', () => {
  beforeEach(({ skip }) => {
    skip(!onWasm, 'only wasm has such a heap');
  });

  it('is four operations of TensorFlow.js, and at most seven tensors', async () => {
    const layer = layerOf();
    const cache = new StaticCache(layer.cacheShape(1), { capacity: 16 });
    layer.apply({ query: random([1, 5, E], 1) }, { mask: causal(), cache }).output.dispose();
    const query = random([1, 1, E], 2);
    const step = () => layer.apply({ query }, { mask: causal(), cache }).output;
    const { kernels } = await tf.profile(step);
    expect(kernels.map(({ name }) => name)).toEqual(Array(4).fill('BatchMatMul'));
    const engine = tf.engine().constructor as unknown as { nextTensorId: number };
    const first = engine.nextTensorId;
    step().dispose();
    expect(engine.nextTensorId - first).toBeLessThanOrEqual(7);
  });

  it('leaves a cache as it was, wherever memory ends', () => {
    const layer = layerOf();
    const cache = new StaticCache(layer.cacheShape(1), { capacity: 16 });
    layer.apply({ query: random([1, 5, E], 1) }, { mask: causal(), cache }).output.dispose();
    const query = random([1, 1, E], 2);
    const step = () => layer.apply({ query }, { mask: causal(), cache }).output;
    const rows = () => tf.tidy(() => Object.values(cache.read().materialize()).map((t) => t.dataSync()));
    const expected = step();
    cache.crop([5]);
    const before = { rows: rows(), tensors: memoryNow().numTensors };
    const { wasm } = tf.backend() as unknown as { wasm: { _malloc(bytes: number): number } };
    const allocate = wasm._malloc;
    let [failures, isDone] = [0, false];
    while (!isDone) {
      let left = failures;
      wasm._malloc = (bytes) => {
        if (left-- === 0) throw new Error('memory ends here');
        return allocate.call(wasm, bytes);
      };
      try {
        step().dispose();
        isDone = true;
      } catch (error) {
        expect((error as Error).message).toBe('memory ends here');
        failures++;
      } finally {
        wasm._malloc = allocate;
      }
      if (isDone) continue;
      expect(cache.lengths).toEqual([5]);
      expect(rows()).toEqual(before.rows);
      expect(memoryNow().numTensors).toBe(before.tensors); // a product of tfjs that fails keeps its left factor's bytes
    }
    expect(failures).toBeGreaterThan(5);
    cache.crop([5]);
    expect(step().dataSync()).toEqual(expected.dataSync());
  });

  const steps = process.env.POLYHEAD_LONG ? 20_000 : 500;

  it(`${steps} of them leave no tensor, no byte and no heap`, { timeout: 600_000 }, () => {
    const layer = layerOf();
    const cache = new RingCache(layer.cacheShape(1), { window: 16 });
    const query = random([1, 1, E], 2);
    const decode = (count: number) => {
      for (let n = 0; n < count; n++) layer.apply({ query }, { mask: causal(), cache }).output.dispose();
    };
    decode(100);
    const [memory, heap] = [memoryNow(), heapBytes()];
    decode(steps);
    expectSameMemory(memory);
    expect(heapBytes()).toBe(heap);
  });
});

/** `rotate` alone: what an author of another package may give. */
function withoutInto(): PositionMethod {
  const { rotateInto: _, ...method } = rotary({ headDim: D });
  return method;
}

const sections = rotary({ headDim: D, sections: [1, 3] });

const layers: readonly (readonly [
  name: string,
  config: Partial<AttentionConfig>,
  parts: () => AttentionParts,
])[] = [
  ['rotary', {}, () => ({})],
  [
    'interleaved pairs of a part',
    {},
    () => ({ position: rotary({ headDim: D, rotaryDim: 4, interleaved: true }) }),
  ],
  ['rotation without rotateInto', {}, () => ({ position: withoutInto() })],
  ['no positions', {}, () => ({ position: undefined })],
  ['tables of Shaw', {}, () => ({ position: shaw({ headDim: D, maxRelativePosition: 3, seed: 2 }) })],
  ['tables of ALiBi', {}, () => ({ position: alibi({ numHeads: 4 }) })],
  ['biases, sinks and a softcap', { useBias: true, learnedSinks: true, softcap: 5 }, () => ({})],
  ['norms of queries and keys', { queryKeyNorm: { kind: 'rms' } }, () => ({})],
  ['norms over all heads', { queryKeyNorm: { kind: 'layer', over: 'all' } }, () => ({})],
  ['a gate', { outputGate: 'number' }, () => ({})],
  ['composed', {}, () => ({ kernel: composed() })],
];

const caches: readonly (readonly [string, (layer: GroupedQueryAttention, batch: number) => KeyValueCache])[] =
  [
    ['StaticCache', (layer, batch) => new StaticCache(layer.cacheShape(batch), { capacity: 24 })],
    [
      'RingCache that goes round',
      (layer, batch) => new RingCache(layer.cacheShape(batch), { window: 7, sinks: 2 }),
    ],
    [
      'QuantizedCache',
      (layer, batch) => new QuantizedCache(layer.cacheShape(batch), { keys: 'int8', values: 'int4' }),
    ],
  ];

/** A prompt, a chunk, and tokens one by one: all outputs, and the rows that are held. */
function numbersOf(
  layer: GroupedQueryAttention,
  cache: KeyValueCache,
  calls: readonly Chunk[],
): Float32Array[] {
  const batch = cache.shape.batch;
  const outputs = calls.map(({ S, ...call }, n) => {
    const query = random([batch, S, E], 20 + n);
    return layer.apply({ query }, { mask: causal(), cache, ...call }).output.dataSync<'float32'>();
  });
  const rows = Object.values(cache.read().materialize()).map((rows) => rows.dataSync<'float32'>());
  cache.dispose();
  return [...outputs, ...rows];
}

type Chunk = LayerCall & { readonly S: number };

const oneByOne: readonly Chunk[] = Array.from({ length: 9 }, () => ({ S: 1 }));
const alone: readonly Chunk[] = [{ S: 4 }, { S: 3 }, ...oneByOne];
const ragged: readonly Chunk[] = [{ S: 4, lengths: [4, 1, 3] }, { S: 3, lengths: [0, 3, 2] }, ...oneByOne];

// Without such a heap nothing is reserved, and no head stays unsplit: one layer shows it.
describe.each(onWasm ? layers : layers.slice(0, 1))(
  'heads read and rows written where they lie give what heads that are split and rows that are staged give, bit by bit: %s',
  (_, config, parts) => {
    it.each(caches)('%s', (_name, cacheOf) => {
      const [layer, splits] = [layerOf(config, parts()), layerOf(config, parts(), SplittingLayer)];
      for (const [batch, chunks] of [[1, alone] as const, [3, ragged] as const]) {
        const numbers = numbersOf(layer, cacheOf(layer, batch), chunks);
        expect(numbers).toEqual(numbersOf(layer, staging(cacheOf(layer, batch)), chunks));
        expect(numbers).toEqual(numbersOf(splits, cacheOf(splits, batch), chunks));
        expect(numbers).toEqual(numbersOf(splits, staging(cacheOf(splits, batch)), chunks));
      }
      for (const made of [layer, splits]) made.dispose();
    });
  },
);

it('sections and given positions, too', () => {
  const layer = layerOf({}, { position: sections });
  const chunks = alone.map(({ S }, n): Chunk => {
    const each = (factor: number) => ({ each: Int32Array.from({ length: S }, (_, s) => factor * (n + s)) });
    return { S, positions: [each(1), each(3)] };
  });
  const cache = () => new StaticCache(layer.cacheShape(1), { capacity: 24 });
  expect(numbersOf(layer, cache(), chunks)).toEqual(numbersOf(layer, staging(cache()), chunks));
});

it('rows that a cache says are reserved, and does not have, are not written', ({ skip }) => {
  skip(!onWasm, 'only wasm has such a heap');
  const layer = layerOf();
  const cache = new StaticCache(layer.cacheShape(1), { capacity: 4 });
  const reserve = cache.reserve.bind(cache);
  cache.reserve = (rows) => {
    const reserved = reserve(rows);
    return reserved && { ...reserved, rows: { ...reserved.rows, runs: () => Int32Array.of(1e6, 1) } };
  };
  const call = () => layer.apply({ query: random([1, 1, E], 1) }, { mask: causal(), cache });
  expect(call).toThrow(/runs of stored rows must lie inside their data/);
  expect(cache.lengths).toEqual([0]);
});
