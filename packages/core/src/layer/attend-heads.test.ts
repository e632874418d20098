import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import type { AttentionKernel, KernelCall } from '../contract/kernel';
import type { KeyValueCache, StoredKeyValue } from '../contract/key-value-cache';
import type { PositionMethod, TokenPositions } from '../contract/position';
import { attendHeads } from './attend-heads';

const heads = (S: number): tf.Tensor4D => tf.randomNormal([2, 3, S, 4], 0, 1, 'float32', S);

/** Keeps what it is asked, and answers with `composed` of the materialized rows. */
function recording(): AttentionKernel & { calls: KernelCall[] } {
  const calls: KernelCall[] = [];
  return {
    name: 'recording',
    calls,
    unsupported: () => [],
    run(call) {
      calls.push(call);
      const { stored, query } = call.inputs;
      const inputs = stored ? { query, ...stored.materialize() } : call.inputs;
      const { relative: _, ...rest } = call;
      return composed().run({ ...rest, inputs });
    },
  };
}

/** A cache of tensors, kept whole: enough to see the order of events. */
function simpleCache(): KeyValueCache & { events: string[] } {
  const events: string[] = [];
  let kept: { key: tf.Tensor4D; value: tf.Tensor4D } | undefined;
  const length = () => kept?.key.shape[2] ?? 0;
  const storedOf = (rows: { key: tf.Tensor4D; value: tf.Tensor4D }): StoredKeyValue => ({
    heads: 3,
    keySize: 4,
    valueSize: 4,
    lengths: [rows.key.shape[2], rows.key.shape[2]],
    order: { start: [0] },
    positions: { start: [0] },
    parts: [],
    materialize: () => ({ key: tf.clone(rows.key), value: tf.clone(rows.value) }),
  });
  return {
    events,
    shape: { batch: 2, heads: 3, keySize: 4, valueSize: 4 },
    get lengths() {
      return [length(), length()];
    },
    get nextOrder() {
      return [length(), length()];
    },
    get nextPosition() {
      return [length(), length()];
    },
    byteSize: 0,
    sealed: false,
    seal: () => events.push('seal'),
    stage({ key, value }) {
      events.push('stage');
      const rows = kept
        ? { key: tf.concat([kept.key, key], 2), value: tf.concat([kept.value, value], 2) }
        : { key, value };
      return {
        stored: storedOf(rows),
        commit() {
          events.push('commit');
          kept = { key: tf.keep(tf.clone(rows.key)), value: tf.keep(tf.clone(rows.value)) };
        },
      };
    },
    read: () => storedOf(kept!),
    crop: () => events.push('crop'),
    reset: () => events.push('reset'),
    dispose: () => tf.dispose(kept),
  };
}

/** Adds its position to every number of a head, and tells what it was asked. */
function shifting(): PositionMethod & { calls: unknown[] } {
  const calls: unknown[] = [];
  return {
    calls,
    config: {},
    variables: [],
    rotate(x, role, at) {
      calls.push([role, at]);
      return tf.add(x, 1);
    },
    tables(_query, distances) {
      calls.push(distances);
      return { bias: { table: tf.zeros([3, distances[1] - distances[0]]), index: { from: distances[0] } } };
    },
    dispose: () => {},
  };
}

describe('attendHeads', () => {
  it('is attend where there are neither positions nor a cache', () => {
    const call = { query: heads(5), key: heads(7), value: heads(7), cross: true, kernel: composed() };
    const { output, kernel } = attendHeads(call);
    expect(kernel).toBe('composed');
    expect(output.shape).toEqual([2, 3, 5, 4]);
  });

  it('refuses a method that is for a sequence itself, in cross-attention', () => {
    const [query, key, value] = [heads(3), heads(5), heads(5)];
    const position = { ...shifting(), selfOnly: true };
    const call = { query, key, value, kernel: composed() };
    expect(() => attendHeads({ ...call, cross: true, position })).toThrow(
      /the position method has no meaning in cross-attention/,
    );
    expect(position.calls).toEqual([]);
    attendHeads({ ...call, query: key, cross: false, position });
    expect(position.calls).toHaveLength(3);
  });

  it.each([
    [0, 0],
    [0, 4],
    [3, 0],
  ])('asks tables for one distance where %i queries and %i keys make no pair', (Sq, Skv) => {
    const position = shifting();
    const call = { query: heads(Sq), key: heads(Skv), value: heads(Skv), cross: Sq !== Skv };
    const { output } = attendHeads({ ...call, kernel: composed(), position });
    expect(output.shape).toEqual([2, 3, Sq, 4]);
    expect(position.calls.at(-1)).toEqual([0, 1]);
  });

  it('rotates queries and keys at their positions, and asks tables for the distances that occur', () => {
    const position = shifting();
    const kernel = recording();
    attendHeads({ query: heads(3), key: heads(3), value: heads(3), cross: false, kernel, position });
    const start: TokenPositions = { start: [0] };
    expect(position.calls).toEqual([
      ['query', [start]],
      ['key', [start]],
      [-2, 3],
    ]);
    expect(kernel.calls[0]!.relative?.bias?.index.from).toBe(-2);
  });

  it('stages new rows, and commits them after the kernel has run', () => {
    const cache = simpleCache();
    const kernel = recording();
    const step = (S: number) => {
      const x = heads(S);
      return attendHeads({ query: x, key: x, value: x, cross: false, kernel, cache });
    };
    step(4);
    step(1);
    expect(cache.events).toEqual(['stage', 'commit', 'stage', 'commit']);
    expect(cache.lengths).toEqual([5, 5]);
    expect(kernel.calls[1]!.order.query).toEqual({ start: [4, 4] });
  });

  it('leaves the cache as it was when the kernel refuses or fails', () => {
    const cache = simpleCache();
    const x = heads(2);
    const call = { query: x, key: x, value: x, cross: false, cache };
    const refusing = { ...recording(), unsupported: () => ['no'] };
    const failing = {
      ...recording(),
      run: () => {
        throw new Error('broken kernel');
      },
    };
    const before = tf.memory().numTensors;
    expect(() => attendHeads({ ...call, kernel: refusing })).toThrow(/recording cannot run/);
    expect(() => attendHeads({ ...call, kernel: failing })).toThrow(/broken kernel/);
    expect(cache.events).toEqual(['stage', 'stage']);
    expect(cache.lengths).toEqual([0, 0]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('reads a sealed cache where there is no key', () => {
    const cache = simpleCache();
    const x = heads(3);
    attendHeads({ query: x, key: x, value: x, cross: true, kernel: recording(), cache });
    const call = { query: heads(2), cross: true, kernel: recording() };
    expect(() => attendHeads({ ...call, cache })).toThrow(/only a sealed cache/);
    expect(() => attendHeads(call)).toThrow(/must be a sealed cache/);
    const sealed = { ...cache, sealed: true, lengths: [3, 3] };
    const { output } = attendHeads({ ...call, cache: sealed });
    expect(output.shape).toEqual([2, 3, 2, 4]);
    expect(() => attendHeads({ ...call, cache: sealed, lengths: [1, 1] })).toThrow(
      /without a key there are none/,
    );
  });

  it('counts positions on from the cache, and sets queries of other tokens to end with the last key', () => {
    const kernel = recording();
    const [x, query] = [heads(4), heads(2)];
    const next = { lengths: [3, 3], nextOrder: [5, 3], nextPosition: [5, 3] };
    const calls = (cross: boolean, more: { lengths?: readonly number[] } = {}) => {
      const position = shifting();
      const cache = { ...simpleCache(), ...next };
      attendHeads({ query: cross ? query : x, key: x, value: x, cross, kernel, cache, position, ...more });
      return position.calls.slice(0, 2);
    };
    const key = ['key', [{ start: [5, 3] }]];
    expect(calls(false)).toEqual([['query', [{ start: [5, 3] }]], key]);
    expect(kernel.calls[0]!.order.query).toEqual({ start: [5, 3] });
    expect(calls(true)).toEqual([['query', [{ start: [7, 5] }]], key]);
    expect(calls(true, { lengths: [4, 1] })).toEqual([['query', [{ start: [7, 2] }]], key]);
  });

  it('hands lengths to the cache', () => {
    const cache = simpleCache();
    const received: unknown[] = [];
    const x = heads(2);
    const stage: KeyValueCache['stage'] = (rows) => {
      received.push(rows.lengths, rows.positions);
      return cache.stage(rows);
    };
    const recorded = { ...cache, lengths: [0, 0], nextOrder: [0, 0], nextPosition: [0, 0], stage };
    const call = { query: x, key: x, value: x, cross: false, kernel: recording(), cache: recorded };
    attendHeads({ ...call, lengths: [2, 1] });
    attendHeads({ ...call, positions: [{ start: [-1, 0] }] });
    expect(received).toEqual([[2, 1], { start: [0, 0] }, undefined, { start: [-1, 0] }]);
  });

  it('refuses positions that are not one for each token', () => {
    const x = heads(3);
    const call = { query: x, key: x, value: x, cross: false, kernel: composed(), position: shifting() };
    const wrong: [unknown, RegExp][] = [
      [[], /positions must be a list, with one entry/],
      [[null], /positions\[0\] must be \{ start/],
      [[{ start: [Number.NaN] }], /positions\[0\].start must be a list of whole numbers/],
      [[{ start: [2 ** 32 + 1] }], /within 32 bits/],
      [[{ start: [0] }, { each: Int32Array.of(1) }], /positions\[1\].each must have one number/],
    ];
    for (const [positions, message] of wrong) {
      expect(() => attendHeads({ ...call, positions: positions as never })).toThrow(message);
    }
  });

  it('asks tables for the distances within each batch entry, of rows that count', () => {
    const position = shifting();
    const x = heads(3);
    const call = { query: x, key: x, value: x, cross: false, kernel: recording(), position };
    attendHeads({ ...call, positions: [{ start: [0, 100] }] });
    expect(position.calls.at(-1)).toEqual([-2, 3]);
  });

  it('refuses a cache inside a gradient, and lengths without a cache', () => {
    const x = heads(2);
    const call = { query: x, key: x, value: x, cross: false, kernel: recording() };
    const loss = (q: tf.Tensor) =>
      tf.sum(attendHeads({ ...call, query: q as tf.Tensor4D, cache: simpleCache() }).output) as tf.Scalar;
    expect(() => tf.grad(loss)(x)).toThrow(/a cache cannot stand in a gradient/);
    expect(() => attendHeads({ ...call, lengths: [1, 2] })).toThrow(/without one use validLengths/);
  });
});
