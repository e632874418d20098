// Layers that use the keys and values of others, as the last of Gemma 3n do, against a model that computes all anew.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import {
  type AttentionKernel,
  type CacheShape,
  composed,
  type KeyValueCache,
  type LayerCall,
  type LayerInputs,
  type LayerReturn,
} from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache, RingCache, SharedCache, StaticCache } from '@polyhead/kv-cache';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Decoder } from '../models/decoder';
import type { DecoderConfig } from '../models/decoder-config';
import { cachePlan, type LayerKinds } from './cache-plan';
import { generate } from './generate';
import { ModelCache } from './model-cache';

const numLayers = 5;
const config: DecoderConfig = {
  ...{ vocabularySize: 31, embedDim: 16, numLayers, seed: 3 },
  norm: { kind: 'rms' },
  normPlacement: 'sandwich',
  feedForward: { hiddenDim: 24, activation: 'gelu', gated: true },
  windows: [4, null, 4, 4, null],
};
/** The last two blocks attend with the rows of the last before that see as much. */
const sharedKeyValues = [null, null, null, 2, 1];
const heads = { embedDim: 16, numHeads: 4, numKeyValueHeads: 2, headDim: 4, seed: 3 };
const position = rotary({ headDim: 4 });

/** Attention that takes keys and values from the input of another block, with weights like its, and keeps no cache. */
class Recomputing extends GroupedQueryAttention {
  constructor(
    parts: object,
    private readonly index: number,
    private readonly inputs: Map<number, tf.Tensor>,
  ) {
    super(heads, { ...parts, position });
  }

  override apply<const Returns extends LayerReturn = never>(
    { query }: LayerInputs,
    call?: LayerCall<Returns>,
  ) {
    const source = sharedKeyValues[this.index] ?? this.index;
    if (source === this.index) this.inputs.set(source, tf.keep(tf.clone(query)));
    return super.apply({ query, key: this.inputs.get(source)!, cross: false }, call);
  }
}

let shared: Decoder;
let whole: Decoder;
const inputs = new Map<number, tf.Tensor>();
beforeAll(() => {
  shared = new Decoder(
    { ...config, sharedKeyValues },
    { attention: (parts) => new GroupedQueryAttention(heads, { ...parts, position }) },
  );
  whole = new Decoder(config, { attention: (parts, index) => new Recomputing(parts, index, inputs) });
  for (const [index, source] of sharedKeyValues.entries()) {
    if (source === null) continue;
    const [own, others] = [index, source].map((n) => whole.blocks[n]!.attention.getWeights());
    const { 'key/kernel': key, 'value/kernel': value } = others!;
    whole.blocks[index]!.attention.setWeights({ ...own!, 'key/kernel': key!, 'value/kernel': value! });
    tf.dispose([own!, others!]);
  }
});
afterAll(() => {
  for (const model of [shared, whole]) model.dispose();
});

/** The likeliest token behind each of a text, all computed anew. */
function likeliest(text: readonly number[], kernel: AttentionKernel): number {
  const next = tf.tidy(() => {
    const { logits } = whole.apply(tf.tensor2d([[...text]], undefined, 'int32'), { kernel, logits: 'last' });
    return logits.argMax(2).dataSync()[0]!;
  });
  for (const input of inputs.values()) input.dispose();
  return next;
}

const capacity = 64;
const window = (shape: CacheShape, size: number) =>
  new RingCache(shape, { window: size, sinks: 0, rollback: 3 });
const view = (source: KeyValueCache) => new SharedCache(source);
const kinds: [string, LayerKinds<KeyValueCache>][] = [
  ['growing', { full: (shape) => new GrowingCache(shape), shared: view }],
  ['static and rings', { full: (shape) => new StaticCache(shape, { capacity }), window, shared: view }],
];
const kernels: [string, () => AttentionKernel][] = [
  ['composed', composed],
  ['flash', flash],
];
const combinations = kinds.flatMap((kind) => kernels.map((kernel) => ({ kind, kernel })));
const prompt = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3];

describe('a decoder whose last blocks use the keys and values of others', () => {
  it.each(combinations)(
    'generates as one that computes all anew: $kind.0, $kernel.0',
    async ({ kind, kernel }) => {
      const text = [...prompt];
      for (let n = 0; n < 8; n++) text.push(likeliest(text, kernel[1]()));
      const before = memoryNow();
      const cache = new ModelCache(shared.cacheShapes(1), cachePlan(shared.config, kind[1]));
      const tokens: number[] = [];
      for await (const { token } of generate(shared, prompt, {
        ...{ cache, maxTokens: 8, chunkSize: 3 },
        kernel: kernel[1](),
      }))
        tokens.push(token);
      expect(tokens).toEqual(text.slice(prompt.length));
      cache.dispose();
      expectSameMemory(before);
    },
  );

  it('searches with beams, is forked, cropped, selected and reset as one', async () => {
    const before = memoryNow();
    const plan = cachePlan(shared.config, kinds[0]![1]);
    const beams = new ModelCache(shared.cacheShapes(3), plan);
    const best: number[] = [];
    for await (const { token } of generate(shared, prompt, { cache: beams, beams: 3, maxTokens: 5 }))
      best.push(token);
    expect(best.length).toBe(5);
    beams.reset();
    expect(beams.lengths).toEqual([0, 0, 0]);
    beams.dispose();

    const cache = new ModelCache(shared.cacheShapes(2), plan);
    const logits = (of: ModelCache, ...rows: number[][]) =>
      tf.tidy(() => [
        ...shared
          .apply(tf.tensor2d(rows, undefined, 'int32'), { cache: of, logits: 'last' })
          .logits.dataSync(),
      ]);
    logits(cache, [1, 2, 3], [4, 5, 6]);
    const fork = cache.fork();
    expect(fork.self[3]!.source).toBe(fork.self[2]);
    expect(fork.self[4]!.source).toBe(fork.self[1]);
    const expected = logits(cache, [7], [8]);
    cache.crop([3, 3]);
    expect(logits(cache, [7], [8])).toEqual(expected);
    cache.dispose();
    fork.select([1, 0]);
    const swapped = logits(fork, [8], [7]);
    const V = expected.length / 2;
    expect(swapped).toEqual([...expected.slice(V), ...expected.slice(0, V)].map((x) => expect.closeTo(x, 5)));
    fork.dispose();
    expectSameMemory(before);
  });

  it('counts in bytes what is held, once', () => {
    const shapes = shared.cacheShapes(2);
    const plan = cachePlan(shared.config, kinds[1]![1]);
    const before = memoryNow().numBytes;
    const cache = new ModelCache(shapes, plan);
    expect(cache.byteSize).toBe(memoryNow().numBytes - before);
    const bytes = cachePlan(shared.config, {
      full: (shape) => StaticCache.bytesFor(shape, { capacity }),
      window: (shape, size) => RingCache.bytesFor(shape, { window: size, sinks: 0, rollback: 3 }),
      shared: () => 0,
    });
    expect(ModelCache.bytesFor(shapes, bytes)).toBe(cache.byteSize);
    expect(cache.byteSize).toBe(2 * 2 * (capacity + 2 * (4 - 1 + 3)) * (4 + 4) * 4);
    cache.dispose();
  });

  it('leaves all layers as they were where a call fails, and refuses what a view cannot show', () => {
    const cache = new ModelCache(shared.cacheShapes(1), cachePlan(shared.config, kinds[1]![1]));
    const ids = (...row: number[]) => tf.tensor2d([row], undefined, 'int32');
    const call = (row: readonly number[], kernel?: AttentionKernel) =>
      tf.tidy(() => [...shared.apply(ids(...row), { cache, kernel }).logits.dataSync()]);
    for (const token of prompt) call([token]);
    const orders = () => cache.self.map(({ nextOrder }) => nextOrder[0]);
    for (let failing = 0; failing < numLayers; failing++) {
      let calls = 0;
      const run: AttentionKernel['run'] = (attend) => {
        if (calls++ === failing) throw new Error('broken');
        return composed().run(attend);
      };
      expect(() => call([1, 2], { ...composed(), name: 'broken', run })).toThrow('broken');
      expect(orders()).toEqual(Array(numLayers).fill(prompt.length));
    }
    const expected = call([7]);
    cache.crop([prompt.length]);
    expect(call([7])).toEqual(expected);
    // Four tokens at once are more than the rings take back: the first would lack tokens that are forgotten.
    cache.crop([prompt.length]);
    expect(() => call([1, 2, 3, 4])).toThrow(/a view must show all that the tokens of a call see/);
    cache.dispose();
  });

  it('is refused without a cache, or with caches of its own', () => {
    const ids = tf.tensor2d([[1, 2]], undefined, 'int32');
    expect(() => shared.apply(ids)).toThrow(/a cache must hand keys and values on/);
    const own = new ModelCache(shared.cacheShapes(1), (shape) => new GrowingCache(shape));
    expect(() => shared.apply(ids, { cache: own })).toThrow(/a cache must be a view/);
    own.dispose();
    expect(() => cachePlan(shared.config, { full: () => 0 })).toThrow(/shared must be given/);
    const attention = () => new GroupedQueryAttention(heads);
    for (const wrong of [[null], [null, 1, null, null, null], [null, 0, 1, null, null], 'all', [0.5]])
      expect(() => new Decoder({ ...config, sharedKeyValues: wrong as never }, { attention })).toThrow(
        /sharedKeyValues must name for each block an earlier one/,
      );
  });
});
