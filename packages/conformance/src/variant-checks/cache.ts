// Checks of a layer with a cache: the rows it keeps, and that decoding gives what one pass gives.
import { type Attention, type AttentionKernel, composed, type KeyValueCache } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { read } from '../kernel-run';
import { layerCase } from '../layer-case';
import { PlainCache } from '../plain-cache';
import { rowFor, type Variant } from './suite';

const config = { embedDim: 6, numHeads: 2, seed: 5 };

export function cacheChecks(variant: Variant): readonly Check[] {
  return [
    {
      name: 'keeps rows of the shape that cacheShape tells, and decodes what one pass gives',
      run: () => checkDecoding(variant),
    },
    { name: 'leaves a cache as it was where a call fails', run: () => checkFailure(variant) },
    { name: 'tells a cache who calls: itself, by its name', run: () => checkCaller(variant) },
  ];
}

/** A cache for the layer, which sees that rows have the shape that the layer told. */
function cacheFor({ createCache }: Variant, layer: Attention, batch: number): KeyValueCache {
  const shape = layer.cacheShape(batch);
  if (shape.batch !== batch) throw new Error(`cacheShape(${batch}) has batch ${shape.batch}`);
  const cache = createCache?.(layer, batch) ?? new PlainCache(shape);
  const stage: KeyValueCache['stage'] = (rows) => {
    const { batch: B, heads, keySize, valueSize } = shape;
    const S = rows.key.shape[2];
    const expected = [
      [B, heads, S, keySize],
      [B, heads, S, valueSize || Math.min(rows.value.shape[3], keySize)], // 0: columns of the keys
    ];
    if (`${[rows.key.shape, rows.value.shape]}` !== `${expected}`)
      throw new Error(`staged [${rows.key.shape}] and [${rows.value.shape}], not ${JSON.stringify(shape)}`);
    return cache.stage(rows);
  };
  return new Proxy(cache, {
    get(target, name) {
      if (name === 'stage') return stage;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** The variables are disposed while the kernel runs, so that whatever comes after attention fails. */
function checkFailure(variant: Variant): void {
  const layer = variant.create(config);
  const testCase = layerCase(rowFor(variant, { name: '', config, B: 2, Sq: 3 }));
  const cache = cacheFor(variant, layer, 2);
  const kernel: AttentionKernel = {
    ...composed(),
    run(call) {
      const result = composed().run(call);
      for (const { variable } of layer.variables) variable.dispose();
      return result;
    },
  };
  const { query } = testCase.inputs();
  let failed = false;
  try {
    layer.apply({ query }, { cache, kernel });
  } catch {
    failed = true;
  }
  if (failed && cache.lengths.some((length) => length !== 0))
    throw new Error(`the call failed, but the cache has ${cache.lengths} rows`);
  cache.dispose();
  layer.dispose();
}

/** By it a cache refuses the rows of another layer. */
function checkCaller(variant: Variant): void {
  const layers = [variant.create(config, { name: 'one' }), variant.create(config, { name: 'other' })];
  const testCase = layerCase(rowFor(variant, { name: '', config, B: 2, Sq: 3 }));
  const { query } = testCase.inputs();
  const callers = layers.map((layer) => {
    const cache = cacheFor(variant, layer, 2);
    const seen: ({ readonly name: string } | undefined)[] = [];
    const stage: KeyValueCache['stage'] = (rows) => {
      seen.push(rows.layer);
      return cache.stage(rows);
    };
    const noting = new Proxy(cache, {
      get: (target, name) => (name === 'stage' ? stage : Reflect.get(target, name, target)),
    });
    for (let n = 0; n < 2; n++) layer.apply({ query }, { cache: noting });
    cache.dispose();
    const [first, second] = seen;
    if (!first || first !== second) throw new Error('a layer must name itself, the same at each call');
    return first;
  });
  const names = callers.map(({ name }) => name);
  if (names.join() !== 'one,other') throw new Error(`the callers are ${names}`);
  for (const layer of layers) layer.dispose();
}

async function checkDecoding(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const [B, S] = [2, 5];
  const testCase = layerCase(rowFor(variant, { name: '', config, B, Sq: S, mask: 'causal' }));
  const { query } = testCase.inputs();
  const { output } = layer.apply({ query }, testCase.call());
  const cache = cacheFor(variant, layer, B);
  let at = 0;
  const outputs = [2, 1, 1, 1].map((size) => {
    const tokens = tf.slice(query, [0, at, 0], [-1, size, -1]);
    at += size;
    return layer.apply({ query: tokens }, { ...testCase.call(), cache }).output;
  });
  expectClose({
    actual: { output: await read(tf.concat(outputs, 1)) },
    expected: { output: await read(output) },
  });
  if (cache.lengths.join() !== `${S},${S}`) throw new Error(`the cache has ${cache.lengths} rows`);
  cache.dispose();
  layer.dispose();
}
