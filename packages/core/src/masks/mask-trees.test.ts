import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Mask } from '../contract/mask';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { chunks } from './chunks';
import { compileMask } from './compile-mask';
import { globalTokens } from './global-tokens';
import { leftPadding } from './left-padding';
import { predicate } from './predicate';
import { prefix } from './prefix';
import { segments } from './segments';
import { slidingWindow } from './sliding-window';
import { validLengths } from './valid-lengths';

/** A mask and the rule it stands for, both in token order; two batch entries, one head. */
interface Ruled {
  readonly mask: Mask;
  /** `first` is the entry's first token, behind left padding. */
  readonly sees: (b: number, query: number, key: number, first: number) => boolean;
  /** Where the mask hides all before a token: that token. */
  readonly first?: ((b: number) => number) | undefined;
}

const count = fc.nat(7);
const pairOf = <T>(each: fc.Arbitrary<T>) => fc.tuple(each, each);
const ids = pairOf(fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }));

const leaf: fc.Arbitrary<Ruled> = fc.oneof(
  fc.constant<Ruled>({ mask: causal(), sees: (_b, query, key) => key <= query }),
  fc.tuple(count, count).map(([left, right]) => ({
    mask: slidingWindow({ left, right }),
    sees: (_b: number, query: number, key: number) => key >= query - left && key <= query + right,
  })),
  pairOf(count).map((n) => ({
    mask: validLengths(n),
    sees: (b: number, _q: number, key: number) => key < n[b]!,
  })),
  pairOf(count).map((n) => ({
    mask: leftPadding(n),
    sees: (b: number, _q: number, key: number) => key >= n[b]!,
    first: (b: number) => n[b]!,
  })),
  pairOf(count).map((n) => ({
    mask: prefix(n),
    sees: (b: number, query: number, key: number, first: number) => key < first + n[b]! || key <= query,
  })),
  fc.integer({ min: 1, max: 4 }).map((size) => ({
    mask: chunks(size),
    sees: (_b: number, query: number, key: number, first: number) =>
      Math.floor((query - first) / size) === Math.floor((key - first) / size),
  })),
  ids.map((of) => ({
    mask: segments(of),
    sees: (b: number, query: number, key: number) => query >= 0 && of[b]![query] === of[b]![key],
  })),
  fc.array(count, { minLength: 1 }).map((tokens) => ({
    mask: globalTokens(tokens),
    sees: (_b: number, query: number, key: number, first: number) =>
      tokens.includes(query - first) || tokens.includes(key - first),
  })),
  fc.nat(100).map((salt) => {
    const rule = (b: number, query: number, key: number) =>
      (salt * 7 + b * 5 + query * 3 + key * key) % 3 > 0;
    return { mask: predicate((b, _h, query, key) => rule(b, query, key)), sees: rule };
  }),
);

function all(parts: readonly Ruled[]): Ruled {
  const firsts = parts.flatMap((part) => part.first ?? []);
  const first = (b: number) => Math.max(...firsts.map((of) => of(b)));
  return {
    mask: allOf(...parts.map(({ mask }) => mask)),
    sees: (b, query, key, outer) => {
      const behind = firsts.length > 0 ? Math.max(outer, first(b)) : outer;
      return parts.every(({ sees }) => sees(b, query, key, behind));
    },
    first: firsts.length > 0 ? first : undefined,
  };
}

function any(parts: readonly Ruled[]): Ruled {
  const firsts = parts.flatMap((part) => part.first ?? []);
  const isBehind = parts.length > 0 && firsts.length === parts.length;
  return {
    mask: anyOf(...parts.map(({ mask }) => mask)),
    sees: (...at) => parts.some(({ sees }) => sees(...at)),
    first: isBehind ? (b) => Math.min(...firsts.map((of) => of(b))) : undefined,
  };
}

const tree = fc.letrec<{ node: Ruled }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('node'), { maxLength: 3 }).map(all),
    fc.array(tie('node'), { maxLength: 3 }).map(any),
  ),
})).node;

const size = fc.integer({ min: 1, max: 6 });

describe('trees of allOf and anyOf', () => {
  it('give exactly the pairs of their rules, 2,000 of them', () => {
    fc.assert(
      fc.property(tree, size, size, ({ mask, sees, first }, queries, keys) => {
        const start = keys - queries;
        const geometry = {
          batch: 2,
          heads: 1,
          queries,
          keys,
          queryStart: [start],
          keyOrder: { start: [0] },
          lengths: [keys],
        };
        const plan = compileMask(mask, geometry);
        const [B, , , width] = plan.shape;
        const shown: string[] = [];
        const expected: string[] = [];
        for (let b = 0; b < 2; b++) {
          for (let i = 0; i < queries; i++) {
            for (let n = 0; n < width; n++) {
              const at = ((((B === 1 ? 0 : b) * queries + i) * width + n) * 2) as number;
              for (let j = plan.spans[at]!; j < plan.spans[at + 1]!; j++) shown.push(`${b} ${i} ${j}`);
            }
            for (let j = 0; j < keys; j++)
              if (sees(b, start + i, j, first?.(b) ?? 0)) expected.push(`${b} ${i} ${j}`);
          }
        }
        expect(shown).toEqual(expected);
        expect(plan.pairs).toBe(expected.length);
      }),
      { numRuns: 2000, seed: 20261127 },
    );
  });
});
