import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { fromConfig } from '../contract/json';
import type { Mask } from '../contract/mask';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { chunks } from './chunks';
import { compileMask } from './compile-mask';
import { dense } from './dense';
import { globalTokens } from './global-tokens';
import { leftPadding } from './left-padding';
import { predicate } from './predicate';
import { prefix } from './prefix';
import { segments } from './segments';
import { slidingWindow } from './sliding-window';
import { validLengths } from './valid-lengths';

const geometry = {
  batch: 1,
  heads: 1,
  queries: 8,
  keys: 8,
  queryStart: [0],
  keyOrder: { start: [0] },
  lengths: [8],
};
const spansOf = (mask: Mask) => [...compileMask(mask, geometry).spans];

describe('masks of masks', () => {
  it('of one kind are one, however long the chain', () => {
    const chain = (join: typeof allOf) =>
      Array.from({ length: 6000 }).reduce<Mask>((mask) => join(mask, causal()), chunks(4));
    expect(spansOf(chain(allOf))).toEqual(spansOf(allOf(chunks(4), causal())));
    expect(spansOf(chain(anyOf))).toEqual(spansOf(anyOf(chunks(4), causal())));
    expect(allOf(allOf(causal(), chunks(2)), anyOf(anyOf(causal()))).name).toBe(
      'allOf(causal, chunks(2), anyOf(causal))',
    );
  });

  it('are refused where they are nested too deep', () => {
    const nest = () =>
      Array.from({ length: 6000 }).reduce<Mask>(
        (mask, _, n) => (n % 2 ? allOf(mask) : anyOf(mask)),
        causal(),
      );
    expect(nest).toThrow(/masks may be nested 100 deep/);
  });
});

describe('JSON of masks', () => {
  const kinds = [
    allOf,
    anyOf,
    causal,
    chunks,
    globalTokens,
    leftPadding,
    prefix,
    segments,
    slidingWindow,
    validLengths,
  ];
  it.each([
    [causal(), { kind: 'causal' }],
    [chunks(3), { kind: 'chunks', size: 3 }],
    [slidingWindow({ left: 2 }), { kind: 'slidingWindow', sides: { left: 2 } }],
    [slidingWindow({ left: Infinity, right: 1 }), { kind: 'slidingWindow', sides: { right: 1 } }],
    [validLengths([5]), { kind: 'validLengths', lengths: [5] }],
    [validLengths([[1, 2, 3, 4, 5, 6, 7, 8]]), { kind: 'validLengths', lengths: [[1, 2, 3, 4, 5, 6, 7, 8]] }],
    [leftPadding(Int32Array.of(2) as never), { kind: 'leftPadding', padding: [2] }],
    [prefix(3), { kind: 'prefix', lengths: 3 }],
    [prefix([4]), { kind: 'prefix', lengths: [4] }],
    [globalTokens([1, 5]), { kind: 'globalTokens', tokens: [1, 5] }],
    [globalTokens([[1, 5]]), { kind: 'globalTokens', tokens: [[1, 5]] }],
    [
      segments([Int32Array.of(0, 0, 1, 1, 0, 0, 1, 1)]),
      { kind: 'segments', ids: [[0, 0, 1, 1, 0, 0, 1, 1]] },
    ],
    [
      segments([[0, 1, 1, 1, 0, 1, 0, 1]], [[0, 0, 1, 1, 0, 0, 1, 1]]),
      { kind: 'segments', ids: [[0, 1, 1, 1, 0, 1, 0, 1]], keyIds: [[0, 0, 1, 1, 0, 0, 1, 1]] },
    ],
    [
      allOf(causal(), anyOf(chunks(2), leftPadding([1]))),
      {
        kind: 'allOf',
        masks: [
          { kind: 'causal' },
          {
            kind: 'anyOf',
            masks: [
              { kind: 'chunks', size: 2 },
              { kind: 'leftPadding', padding: [1] },
            ],
          },
        ],
      },
    ],
  ])('%# is what it was made from', (mask, json) => {
    const written = JSON.parse(JSON.stringify(mask));
    expect(written).toEqual(json);
    const again = fromConfig<Mask>(written, kinds);
    expect([again.name, spansOf(again)]).toEqual([mask.name, spansOf(mask)]);
  });

  it.each([
    [() => predicate(() => true), /predicate: a function cannot be written as JSON/],
    [() => dense(tf.ones([8, 8], 'bool')), /dense: a tensor cannot be written as JSON/],
    [
      () =>
        allOf(
          causal(),
          predicate(() => true),
        ),
      /predicate: a function cannot/,
    ],
    [
      () => anyOf({ name: 'own', perBatch: false, perHead: false, spans: () => [] }),
      /anyOf: a mask without toJSON .*\n.*own/,
    ],
  ])('%# is refused with the reason', (make, message) => {
    const mask = make();
    expect(() => JSON.stringify(mask)).toThrow(message);
  });

  it('has a kind for each factory', () => {
    expect([predicate.kind, dense.kind, ...kinds.map(({ kind }) => kind)]).toHaveLength(12);
  });
});

describe('masks keep what they were made from', () => {
  it('whatever becomes of the lists', () => {
    const lists = [[0, 0, 0, 0, 1, 1, 1, 1], [3], [2]];
    const [ids, tokens, padding] = lists as [number[], number[], number[]];
    const mask = anyOf(allOf(segments([ids]), leftPadding(padding)), globalTokens(tokens));
    const before = spansOf(mask);
    for (const list of lists) list.fill(7);
    expect([...compileMask(mask, { ...geometry, queryStart: [0, 0] }).spans].slice(0, before.length)).toEqual(
      before,
    );
  });
});
