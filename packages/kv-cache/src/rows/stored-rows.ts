// The rows of a cache as kernels read them.
import type {
  CacheShape,
  KeyValuePart,
  Mask,
  RowMatrix,
  StoredKeyValue,
  TokenPositions,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { equalLayout, gatherColumns, type TokenSpans } from './row-storage';
import { appendRuns, runsOf, selectRuns, type TokenRuns, tokenPositions } from './token-runs';

/** What is known of the tokens beside their rows, of each batch entry. */
export interface Tokens {
  readonly lengths: readonly number[]; // [B]
  readonly orders: readonly TokenRuns[]; // [B]
  readonly positions: readonly TokenRuns[]; // [B]
}

export function noTokens(batch: number): Tokens {
  const none = Array<TokenRuns>(batch).fill([]);
  return { lengths: Object.freeze(Array<number>(batch).fill(0)), orders: none, positions: none };
}

/**
 * New tokens.
 *
 * @param counts the first `counts[b]` of S: [B]
 */
export function tokensAt(
  counts: readonly number[],
  { order, positions, S }: Record<'order' | 'positions', TokenPositions> & { readonly S: number },
): Tokens {
  const numbers = (of: TokenPositions) => counts.map((count, b) => runsOf(of, b, { count, S }));
  return { lengths: counts, orders: numbers(order), positions: numbers(positions) };
}

/** Those tokens, and `more` behind them. */
export function appendTokens(tokens: Tokens, more: Tokens): Tokens {
  const both = (name: 'orders' | 'positions') =>
    tokens[name].map((runs, b) => appendRuns(runs, more[name][b]!));
  const lengths = Object.freeze(tokens.lengths.map((length, b) => length + more.lengths[b]!));
  return { lengths, orders: both('orders'), positions: both('positions') };
}

/** The tokens inside the spans. */
export function selectFrom({ orders, positions }: Tokens, spans: TokenSpans): Tokens {
  const lengths = spans.map((own) => own.reduce((sum, [from, to]) => sum + to - from, 0));
  const select = (entries: readonly TokenRuns[]) => entries.map((runs, b) => selectRuns(runs, spans[b]!));
  return { lengths: Object.freeze(lengths), orders: select(orders), positions: select(positions) };
}

/** The tokens of those batch entries. */
export function entriesOf({ lengths, orders, positions }: Tokens, entries: readonly number[]): Tokens {
  const select = <T>(all: readonly T[]) => entries.map((entry) => all[entry]!);
  return { lengths: Object.freeze(select(lengths)), orders: select(orders), positions: select(positions) };
}

/**
 * @param check throws once the rows have changed
 * @param mask what the storage itself hides
 * @param floatsOf the numbers of words; undefined where rows are floats
 */
export function storedRows(
  shape: CacheShape,
  { lengths, orders, positions }: Tokens,
  storage: {
    readonly parts: readonly KeyValuePart[];
    readonly mask: Mask | undefined;
    readonly check: () => void;
    readonly floatsOf: ((matrix: RowMatrix) => RowMatrix) | undefined;
  },
): StoredKeyValue {
  const { batch, heads, keySize } = shape;
  const { parts, mask, check, floatsOf } = storage;
  const S = Math.max(...lengths);
  const valueSize = parts[0]?.value.size ?? shape.valueSize;
  const inFloats = (name: 'key' | 'value') =>
    floatsOf ? parts.map((part) => ({ ...part, [name]: floatsOf(part[name]) })) : parts;
  const tensor = (name: 'key' | 'value', size: number) => {
    const layout = equalLayout(shape, S);
    const rows = S > 0 ? gatherColumns(shape, inFloats(name), { layout, name }) : tf.zeros([0, size]);
    return tf.reshape<tf.Rank.R4>(rows, [batch, heads, S, size]);
  };
  const startsAt0 = orders.every((runs) => runs.length === 0 || (runs.length === 1 && runs[0]!.first === 0));
  // Made when asked for: those of a ring are a number for each token, which staging a token must not cost.
  let order: TokenPositions | undefined = startsAt0 ? { start: [0] } : undefined;
  let ownPositions: TokenPositions | undefined;
  return {
    heads,
    keySize,
    valueSize,
    lengths,
    get order() {
      order ??= tokenPositions(orders, S);
      return order;
    },
    get positions() {
      ownPositions ??= tokenPositions(positions, S);
      return ownPositions;
    },
    mask,
    get parts() {
      check();
      return parts;
    },
    materialize() {
      check();
      return tf.tidy(() => ({ key: tensor('key', keySize), value: tensor('value', valueSize) }));
    },
  };
}
