// What a decoder keeps, refuses and leaves.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import type { Attention, KeyValueCache } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attention, cachesOf, config, ids, numbers } from '../fixtures/small-models';
import { Decoder } from '../index';

describe('Decoder', () => {
  it('names, freezes, copies and sets its weights', () => {
    const model = new Decoder(config, { attention });
    const names = model.variables.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('block2/attention/query/kernel');
    expect(names).toContain('embedding/table');
    model.setTrainable(false);
    model.setTrainable(true, (name) => name.startsWith('block1/'));
    const trained = model.variables.filter(({ variable }) => variable.trainable).map(({ name }) => name);
    expect(trained).toEqual(names.filter((name) => name.startsWith('block1/')));
    const other = new Decoder({ ...config, seed: 9 }, { attention, name: 'other' });
    const of = (decoder: Decoder) => numbers(decoder.apply(ids([1, 2, 3])).logits);
    expect(of(other)).not.toEqual(of(model));
    other.setWeights(model.getWeights());
    expect(of(other)).toEqual(of(model));
    expect(() => other.setWeights({ ...model.getWeights(), extra: tf.ones([1]) })).toThrow(
      /unknown +\[extra\]/,
    );
  });

  it('starts the same by the same seed', () => {
    const [one, same, other] = [5, 5, 6].map((seed) => new Decoder({ ...config, seed }, { attention }));
    const of = (model: Decoder | undefined) => numbers(model!.apply(ids([1, 2, 3])).logits);
    expect(of(one)).toEqual(of(same));
    expect(of(one)).not.toEqual(of(other));
  });

  it('scores by its table of tokens, which is there once', () => {
    const own = new Decoder(config, { attention });
    const tied = new Decoder({ ...config, head: 'tied' }, { attention });
    expect(own.variables.length - tied.variables.length).toBe(1);
    const table = own.getWeights()['embedding/table']!;
    own.setWeights({
      ...tied.getWeights(),
      'head/kernel': tf.transpose(tied.getWeights()['embedding/table']!),
    });
    expect(numbers(own.apply(ids([1, 2, 3])).logits)).toEqual(
      numbers(tied.apply(ids([1, 2, 3])).logits).map((x) => expect.closeTo(x, 5)),
    );
    expect(table.shape).toEqual([11, 8]);
  });

  it('gives the logits of the last token that counts', () => {
    const model = new Decoder(config, { attention });
    const all = model.apply(ids([1, 2, 3, 4], [5, 6, 0, 0])).logits;
    const last = model.apply(ids([1, 2, 3, 4], [5, 6, 0, 0]), { lengths: [4, 2], logits: 'last' }).logits;
    expect(last.shape).toEqual([2, 1, 11]);
    const rows = all.arraySync();
    const expected = [...rows[0]![3]!, ...rows[1]![1]!];
    expect(numbers(last)).toEqual(expected.map((x) => expect.closeTo(x, 5)));
  });

  it('scales and caps logits, and adds a bias', () => {
    const plain = new Decoder(config, { attention });
    const capped = new Decoder({ ...config, headBias: true, logitScale: 3, logitSoftcap: 2 }, { attention });
    const bias = tf.linspace(-1, 1, 11);
    capped.setWeights({ ...plain.getWeights(), 'head/bias': bias });
    const expected = numbers(plain.apply(ids([1, 2, 3])).logits).map(
      (x, n) => 2 * Math.tanh((3 * x + numbers(bias)[n % 11]!) / 2),
    );
    expect(numbers(capped.apply(ids([1, 2, 3])).logits)).toEqual(expected.map((x) => expect.closeTo(x, 5)));
  });

  it('refuses tokens outside the vocabulary, and more of them than it has positions, by what is in the cache too', () => {
    const model = new Decoder(config, { attention });
    expect(() => model.apply(ids([1, 11]))).toThrow(/tokens of the vocabulary/);
    const long = tf.zeros([1, 17], 'int32');
    expect(() => model.apply(long)).toThrow(
      /must not be longer than the model\n +tokens +17\n +maxLength +16/,
    );
    expect(model.apply(long, { leftPadding: [1] }).logits.shape).toEqual([1, 17, 11]);
    const cache = cachesOf(model, 1, (shape) => new GrowingCache(shape));
    model.apply(tf.zeros([1, 12], 'int32'), { cache });
    expect(() => model.apply(tf.zeros([1, 5], 'int32'), { cache })).toThrow(/tokens +17/);
  });

  it('refuses options and caches that cannot be', () => {
    const model = new Decoder(config, { attention });
    const cache = cachesOf(model, 1, (shape) => new GrowingCache(shape));
    const call = (options: object) => () => model.apply(ids([1, 2]), options);
    expect(call({ logits: 'first' })).toThrow(/logits must be one of all, last/);
    expect(call({ leftPadding: [1, 2] })).toThrow(/leftPadding must have one count for each batch entry/);
    expect(call({ lengths: 2 })).toThrow(/lengths must have one count/);
    expect(call({ cache: { self: cache.self.slice(1) } })).toThrow(
      /cache.self must have a cache for each block/,
    );
    expect(call({ caches: cache })).toThrow(/known options only/);
    expect(() => model.apply(tf.ones([1, 2]))).toThrow(/ids must be int32/);
    for (const one of cache.self) one.dispose();
  });

  it('leaves caches as they were where a block fails', () => {
    const model = new Decoder(config, { attention });
    const make = (capacity: number) => (shape: KeyValueCache['shape']) =>
      new StaticCache(shape, { capacity });
    const larger = cachesOf(model, 1, make(8));
    // The last block holds one token less.
    const cache = { self: [...larger.self.slice(0, 2), make(4)(model.cacheShapes(1).self[2]!)] };
    const prompt = ids([1, 2, 3]);
    const logits = numbers(model.apply(prompt, { cache }).logits);
    const next = ids([4, 5]);
    const before = memoryNow();
    expect(() => model.apply(next, { cache })).toThrow(/capacity/);
    expectSameMemory(before);
    expect(cache.self.map((one) => one.lengths)).toEqual([[3], [3], [3]]);
    const again = model.apply(ids([4]), { cache }).logits;
    const whole = model.apply(ids([1, 2, 3, 4])).logits;
    expect(numbers(again)).toEqual(
      numbers(whole)
        .slice(-11)
        .map((x) => expect.closeTo(x, 5)),
    );
    expect(logits.length).toBe(33);
    for (const one of [...cache.self, ...larger.self]) one.dispose();
  });

  it('takes 96 layers', () => {
    const before = memoryNow();
    const position = rotary({ headDim: 4 });
    const model = new Decoder(
      { ...config, numLayers: 96 },
      {
        attention: (parts) =>
          new GroupedQueryAttention(
            { embedDim: 8, numHeads: 2, numKeyValueHeads: 1 },
            { ...parts, position },
          ),
      },
    );
    expect(model.variables.length).toBe(96 * 9 + 3);
    const prompt = ids([1, 2, 3]);
    const held = memoryNow();
    const whole = model.apply(prompt).logits;
    const cache = cachesOf(model, 1, (shape) => new GrowingCache(shape));
    const parts = [ids([1, 2]), ids([3])].map((tokens) => model.apply(tokens, { cache }).logits);
    expect(numbers(whole).every(Number.isFinite)).toBe(true);
    expect(numbers(parts[1]!)).toEqual(
      numbers(whole)
        .slice(-11)
        .map((x) => expect.closeTo(x, 4)),
    );
    for (const one of cache.self) one.dispose();
    tf.dispose([whole, ...parts]);
    expect(tf.memory().numTensors - held.numTensors).toBe(2); // the two lists of tokens
    model.dispose();
    expect(tf.memory().numTensors - before.numTensors).toBe(3);
  });

  it('refuses configs that cannot be, and leaves nothing', () => {
    const attempt =
      (own: object, parts: object = {}) =>
      () =>
        new Decoder({ ...config, ...own }, { attention, ...parts });
    const before = memoryNow();
    expect(attempt({ numLayers: 0 })).toThrow(/numLayers must be a whole number above 0/);
    expect(attempt({ head: 'shared' })).toThrow(/head must be one of tied, own/);
    expect(attempt({ windows: [1, 2] })).toThrow(/windows must be a whole number, or one for each block/);
    expect(attempt({ layers: 3 })).toThrow(/known options only/);
    expect(attempt({ feedForward: { hiddenDim: -1 } })).toThrow(/hiddenDim must be a whole number above 0/);
    expect(attempt({}, { attention: [] })).toThrow(
      /parts.attention must be a function, or have a layer for each block/,
    );
    const unnamed = () => new MultiHeadAttention({ embedDim: 8, numHeads: 2 });
    expect(attempt({}, { attention: unnamed })).toThrow(/each variable must have a name of its own/);
    expectSameMemory(before);
  });
});

describe('JSON', () => {
  it('is refused where a part has none', () => {
    const bare = Object.assign(Object.create(attention({ name: 'x', initializer: undefined })), {
      toJSON: undefined,
    });
    const model = new Decoder({ ...config, numLayers: 1 }, { attention: [bare as Attention] });
    expect(() => JSON.stringify(model)).toThrow(/Decoder.toJSON: parts.attention must have a toJSON/);
  });
});
