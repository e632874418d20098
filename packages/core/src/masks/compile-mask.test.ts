import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import type { Mask, MaskPlan, Span } from '../contract/mask';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { chunks } from './chunks';
import { compileMask, countPairs, type MaskGeometry } from './compile-mask';
import { dense } from './dense';
import { globalTokens } from './global-tokens';
import { leftPadding } from './left-padding';
import { predicate } from './predicate';
import { prefix } from './prefix';
import { segments } from './segments';
import { slidingWindow } from './sliding-window';
import { validLengths } from './valid-lengths';

type Rule = (b: number, h: number, query: number, key: number) => boolean;

const sizes = [1, 2, 3, 4, 5, 6];
const shapes = sizes.flatMap((queries) => sizes.map((keys) => [queries, keys] as const));

const packed = [
  [0, 0, 1, 1, 2, 2],
  [5, 6, 5, 6, 6, 5],
];

const everyKind: readonly (readonly [string, Mask, Rule])[] = [
  ['causal', causal(), (_b, _h, query, key) => key <= query],
  [
    'a window',
    slidingWindow({ left: 1, right: 2 }),
    (_b, _h, query, key) => key >= query - 1 && key <= query + 2,
  ],
  ['a window open to the left', slidingWindow({ right: 0 }), (_b, _h, query, key) => key <= query],
  ['valid lengths', validLengths([2, 9]), (b, _h, _query, key) => key < [2, 9][b]!],
  ['left padding', leftPadding([0, 3]), (b, _h, _query, key) => key >= [0, 3][b]!],
  [
    'a predicate',
    predicate((b, h, q, k) => (b + h + q + k) % 2 === 0),
    (b, h, q, k) => (b + h + q + k) % 2 === 0,
  ],
  ['a prefix', prefix([1, 4]), (b, _h, query, key) => key < [1, 4][b]! || key <= query],
  ['one prefix for all', prefix(2), (_b, _h, query, key) => key < 2 || key <= query],
  ['chunks', chunks(2), (_b, _h, query, key) => Math.floor(query / 2) === Math.floor(key / 2)],
  ['packed segments', segments(packed), (b, _h, query, key) => packed[b]![query] === packed[b]![key]],
  [
    'global tokens',
    globalTokens([1, 4]),
    (_b, _h, query, key) => [query, key].some((x) => x === 1 || x === 4),
  ],
  [
    'global tokens per entry',
    globalTokens([[0], [2, 3]]),
    (b, _h, query, key) => [[0], [2, 3]][b]!.some((x) => x === query || x === key),
  ],
  [
    'all of',
    allOf(causal(), leftPadding([1, 2]), slidingWindow({ left: 2, right: 2 })),
    (b, _h, query, key) => key <= query && key >= [1, 2][b]! && key >= query - 2,
  ],
  [
    'any of',
    anyOf(validLengths([1, 2]), slidingWindow({ left: 0, right: 0 })),
    (b, _h, query, key) => key < [1, 2][b]! || key === query,
  ],
  ['no mask at all', allOf(), () => true],
  ['no pair at all', anyOf(), () => false],
];

function geometry(queries: number, keys: number, queryStart = keys - queries): MaskGeometry {
  return {
    batch: 2,
    heads: 3,
    queries,
    keys,
    queryStart: [queryStart],
    keyOrder: { start: [0] },
    lengths: [keys],
  };
}

/** Whether the plan shows a pair. */
function shows(
  { shape: [B, H, R, width], spans }: MaskPlan,
  b: number,
  h: number,
  [row, column]: Span,
): boolean {
  const first = (((B === 1 ? 0 : b) * H + (H === 1 ? 0 : h)) * R + row) * width;
  return Array.from({ length: width }, (_, n) => (first + n) * 2).some(
    (i) => spans[i]! <= column && column < spans[i + 1]!,
  );
}

function pairs(queries: number, keys: number): [number, number, number, number][] {
  const all: [number, number, number, number][] = [];
  for (let b = 0; b < 2; b++) {
    for (let h = 0; h < 3; h++) {
      for (let i = 0; i < queries; i++) for (let j = 0; j < keys; j++) all.push([b, h, i, j]);
    }
  }
  return all;
}

describe('compileMask', () => {
  it.each(everyKind)('gives exactly the pairs of %s, on every shape up to 6 x 6', (_name, mask, rule) => {
    for (const [queries, keys] of shapes) {
      for (const start of [keys - queries, 0]) {
        const plan = compileMask(mask, geometry(queries, keys, start));
        let visible = 0;
        for (const [b, h, i, j] of pairs(queries, keys)) {
          const expected = rule(b, h, start + i, j);
          expect(shows(plan, b, h, [i, j]), `${queries} x ${keys}, pair ${[b, h, i, j]}`).toBe(expected);
          visible += Number(expected);
        }
        expect(plan.pairs).toBe(visible);
        expect(plan.full).toBe(visible === 6 * queries * keys);
      }
    }
  });

  it.each(everyKind)('knows from where to where rows of %s see keys', (_name, mask, rule) => {
    const plan = compileMask(mask, geometry(5, 6));
    for (const rows of [
      [0, 2],
      [2, 5],
      [4, 5],
      [0, 5],
      [3, 3],
    ] as Span[]) {
      const seen = pairs(5, 6).filter(
        ([b, h, i, j]) => b === 1 && i >= rows[0] && i < rows[1] && rule(b, h, i + 1, j),
      );
      const keys = seen.map(([, , , j]) => j);
      const hull = keys.length > 0 ? [Math.min(...keys), Math.max(...keys) + 1] : [0, 0];
      expect(plan.visibleKeys({ batch: [1, 2], rows })).toEqual(hull);
    }
  });

  it.each(everyKind)('says whether %s is causal', (_name, mask, rule) => {
    for (const [queries, keys] of shapes) {
      for (const start of [keys - queries, 0]) {
        const plan = compileMask(mask, geometry(queries, keys, start));
        const isCausal = pairs(queries, keys).every(
          ([b, h, i, j]) => rule(b, h, start + i, j) === j <= start + i,
        );
        expect(plan.causal, `${queries} x ${keys} from ${start}`).toBe(isCausal);
      }
    }
  });

  it.each([
    ['behind a window of keys', { queryStart: [10], keyOrder: { start: [7] } }],
    ['of unequal lengths', { queryStart: [1, 3], lengths: [2, 4] }],
    ['where an entry is empty', { queryStart: [-1, 3], lengths: [0, 4] }],
    ['where tokens are missing', { queryStart: [9], keyOrder: { each: Int32Array.of(0, 1, 7, 9) } }],
  ])('knows causal() %s, and what means the same', (_name, parts) => {
    const call = { ...geometry(1, 4), ...parts };
    expect(compileMask(causal(), call).causal).toBe(true);
    expect(compileMask(undefined, call).causal).toBe(true); // the query is at the last key
    expect(compileMask(slidingWindow({ left: 1 }), call).causal).toBe(false);
    expect(compileMask(undefined, { ...call, queryStart: [2] }).causal).toBe(false);
  });

  it('counts pairs without a plan', () => {
    const mask = allOf(causal(), segments(packed));
    expect(countPairs(mask, geometry(4, 6))).toBe(compileMask(mask, geometry(4, 6)).pairs);
    expect(countPairs(undefined, geometry(4, 6))).toBe(2 * 3 * 4 * 6);
  });

  it('gives calls without queries, keys or a batch', () => {
    for (const mask of [undefined, causal(), packed && segments(packed)]) {
      expect(compileMask(mask, geometry(0, 4)).pairs).toBe(0);
      expect([...compileMask(mask, geometry(2, 0)).spans]).toEqual(
        mask === undefined || mask.name === 'causal' ? [0, 0, 0, 0] : new Array(8).fill(0),
      );
    }
    const nobody = { ...geometry(2, 4), batch: 0 };
    expect(compileMask(causal(), nobody)).toMatchObject({ shape: [0, 1, 2, 1], pairs: 0 });
  });

  it('takes one valid length for each query row', () => {
    const plan = compileMask(
      validLengths([
        [1, 2],
        [0, 3],
      ]),
      geometry(2, 3),
    );
    expect([...plan.spans]).toEqual([0, 1, 0, 2, 0, 0, 0, 3]);
  });

  it('gives cross-attention segments of its own', () => {
    const plan = compileMask(
      segments(
        [
          [7, 8],
          [8, 9],
        ],
        [
          [8, 7, 7],
          [9, 9, 8],
        ],
      ),
      geometry(2, 3),
    );
    expect([...plan.spans]).toEqual([1, 3, 0, 1, 2, 3, 0, 2]);
  });

  it('puts spans in order, joins and clips them', () => {
    const untidy: Mask = {
      name: 'untidy',
      perBatch: false,
      perHead: false,
      spans: () => [
        [4, 99],
        [-5, 1],
        [1, 2],
        [3, 3],
        [4, 5],
      ],
    };
    const plan = compileMask(untidy, geometry(1, 6));
    expect([...plan.spans]).toEqual([0, 2, 4, 6]);
  });

  it('counts columns from the first key that is kept', () => {
    const ring = { ...geometry(1, 4), queryStart: [10], keyOrder: { start: [7] }, lengths: [4] };
    expect([...compileMask(slidingWindow({ left: 1, right: 0 }), ring).spans]).toEqual([2, 4]);
  });

  it('hides the columns past each length', () => {
    const ragged = { ...geometry(1, 4), queryStart: [1, 3], lengths: [2, 4] };
    const plan = compileMask(causal(), ragged);
    expect(plan.shape).toEqual([2, 1, 1, 1]);
    expect([...plan.spans]).toEqual([0, 2, 0, 4]);
  });

  it('is shared by batch entries that start and end alike', () => {
    const plan = compileMask(causal(), { ...geometry(1, 4), queryStart: [2, 2], lengths: [4, 4] });
    expect(plan.shape).toEqual([1, 1, 1, 1]);
    expect([...plan.spans, plan.pairs]).toEqual([0, 3, 2 * 3 * 3]);
  });

  it('remembers a plan for each geometry, and forgets old ones', () => {
    const mask = causal();
    const first = compileMask(mask, geometry(3, 3));
    expect(compileMask(mask, geometry(3, 3))).toBe(first);
    for (let keys = 4; keys < 20; keys++) compileMask(mask, geometry(3, keys));
    expect(compileMask(mask, geometry(3, 3))).not.toBe(first);
  });

  it('and-s dense tensors to the spans', () => {
    const plan = compileMask(allOf(causal(), dense(tf.ones([3, 3], 'bool'))), geometry(3, 3));
    expect(plan.full).toBe(false);
    expect(plan.dense.map((mask) => mask.shape)).toEqual([[1, 1, 3, 3]]);
    expect(plan.causal).toBe(false);
  });
});
