// Every kind of mask beside its meaning, pair by pair, written without the library.
import {
  allOf,
  anyOf,
  causal,
  dense,
  leftPadding,
  type Mask,
  predicate,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { tabulate } from './inputs';
import type { Sizes } from './oracle';

/** A query row and a key; `query` is the row's token order, `i` its index in the call. */
export interface Pair {
  readonly sizes: Sizes;
  readonly b: number;
  readonly h: number;
  readonly i: number;
  readonly query: number;
  readonly j: number;
}

export interface MaskKind {
  /** The tensors of a dense mask belong to the caller's scope. */
  mask(sizes: Sizes): Mask | undefined;
  isVisible(pair: Pair): boolean;
}

/** A row a batch entry, or a row a query. */
const perBatch = ({ B }: Sizes, count: (b: number) => number) =>
  Array.from({ length: B }, (_, b) => count(b));
const perRow = ({ B, Sq }: Sizes, count: (b: number, i: number) => number) =>
  Array.from({ length: B }, (_, b) => Array.from({ length: Sq }, (_, i) => count(b, i)));

// Every second batch entry is empty, and some rows of the others, so that whole rows see nothing.
const lengthOf = ({ Skv }: Sizes, b: number) => (b % 2 === 0 ? Math.ceil(Skv / 2) : 0);
const rowLengthOf = ({ Skv }: Sizes, b: number, i: number) => (b + 2 * i) % (Skv + 1);
const paddingOf = ({ Skv }: Sizes, b: number) => Math.min(b, Skv);
// Of a dense mask: the first row of the first head sees nothing.
const scattered = (b: number, h: number, i: number, j: number) =>
  i + h > 0 && (b + 2 * h + 3 * i + 5 * j) % 4 !== 1;
const rule = (b: number, h: number, query: number, key: number) =>
  (b + h + Math.abs(query) + 2 * key) % 3 !== 0;

function denseOf(
  shape: readonly number[],
  dtype: 'bool' | 'int32',
  isVisible: (...at: number[]) => boolean,
): Mask {
  const { data } = tabulate(shape, (...at) => Number(isVisible(...at)));
  return dense(tf.tensor(Array.from(data), [...shape], dtype));
}

export const maskKinds = {
  none: { mask: () => undefined, isVisible: () => true },
  causal: { mask: () => causal(), isVisible: ({ query, j }) => j <= query },
  window: {
    mask: () => slidingWindow({ left: 1, right: 2 }),
    isVisible: ({ query, j }) => j >= query - 1 && j <= query + 2,
  },
  'causal window': {
    mask: () => allOf(causal(), slidingWindow({ left: 2 })),
    isVisible: ({ query, j }) => j <= query && j >= query - 2,
  },
  lengths: {
    mask: (sizes) => validLengths(perBatch(sizes, (b) => lengthOf(sizes, b))),
    isVisible: ({ sizes, b, j }) => j < lengthOf(sizes, b),
  },
  'lengths per row': {
    mask: (sizes) => validLengths(perRow(sizes, (b, i) => rowLengthOf(sizes, b, i))),
    isVisible: ({ sizes, b, i, j }) => j < rowLengthOf(sizes, b, i),
  },
  'causal lengths': {
    mask: (sizes) => allOf(causal(), validLengths(perBatch(sizes, (b) => lengthOf(sizes, b)))),
    isVisible: ({ sizes, b, query, j }) => j <= query && j < lengthOf(sizes, b),
  },
  'left padding': {
    mask: (sizes) => allOf(leftPadding(perBatch(sizes, (b) => paddingOf(sizes, b))), causal()),
    isVisible: ({ sizes, b, query, j }) => j >= paddingOf(sizes, b) && j <= query,
  },
  'dense [Sq, Skv]': {
    mask: ({ Sq, Skv }) => denseOf([Sq, Skv], 'int32', (i, j) => scattered(0, 0, i, j)),
    isVisible: ({ i, j }) => scattered(0, 0, i, j),
  },
  'dense [B, 1, 1, Skv]': {
    mask: ({ B, Skv }) => denseOf([B, 1, 1, Skv], 'bool', (b, _h, _i, j) => scattered(b, 1, 0, j)),
    isVisible: ({ b, j }) => scattered(b, 1, 0, j),
  },
  'dense [B, Hq, Sq, Skv]': {
    mask: ({ B, Hq, Sq, Skv }) => denseOf([B, Hq, Sq, Skv], 'bool', scattered),
    isVisible: ({ b, h, i, j }) => scattered(b, h, i, j),
  },
  'causal dense [1, Hq, Sq, Skv]': {
    mask: ({ Hq, Sq, Skv }) => allOf(causal(), denseOf([1, Hq, Sq, Skv], 'int32', scattered)),
    isVisible: ({ h, i, query, j }) => j <= query && scattered(0, h, i, j),
  },
  predicate: { mask: () => predicate(rule), isVisible: ({ b, h, query, j }) => rule(b, h, query, j) },
  'any of': {
    mask: () =>
      anyOf(
        slidingWindow({ left: 0, right: 0 }),
        predicate((_b, _h, _query, key) => key === 0),
      ),
    isVisible: ({ query, j }) => j === query || j === 0,
  },
} as const satisfies { readonly [name: string]: MaskKind };

export type MaskName = keyof typeof maskKinds;
