// Heads on their way from a product to a kernel or a cache: turned, copied and split in one loop, where they lie on a heap.
import * as tf from '@tensorflow/tfjs-core';
import { addressOnHeap, emptyOnHeap, hasWasmHeap, heapMemory, wordsOf } from '../backend/wasm-heap';
import { checkReserved } from '../checks/check-stored';
import type { ComingRows, KeyValuePart, ReservedRows } from '../contract/key-value-cache';
import type { HeadRows, PositionMethod, TokenPositions } from '../contract/position';
import { splitAs, UnsplitHeads } from './heads';

type Heads = tf.Tensor4D | UnsplitHeads;

/** How heads are turned. */
export interface Turning {
  readonly position: PositionMethod | undefined;
  readonly role: 'query' | 'key';
  readonly at: readonly TokenPositions[];
}

/** Heads turned by position, and split: [B, H, S, D]. */
export function turnedHeads(heads: Heads, { position, role, at }: Turning): tf.Tensor4D {
  if (!position?.rotateInto || !isUnsplitOnHeap(heads)) {
    const split = splitAs(heads);
    return position?.rotate?.(split, role, at) ?? split;
  }
  const turned = emptyOnHeap<tf.Rank.R4>(heads.shape);
  position.rotateInto(rowsOfHeads(turned), rowsOfHeads(heads), role, at);
  return turned;
}

function isUnsplitOnHeap(heads: Heads): heads is UnsplitHeads {
  if (!(heads instanceof UnsplitHeads) || heads.merged.size === 0) return false;
  return tf.engine().state.gradientDepth === 0 && hasWasmHeap();
}

/**
 * Writes new rows, of which as many count as there are reserved rows.
 *
 * @param newRows what the cache was asked with: keys that are not turned yet
 * @throws ShapeError, ConfigError for rows that the cache does not have: nothing is written
 */
export function writeReserved(
  { rows }: ReservedRows,
  newRows: ComingRows & { readonly key: Heads; readonly value: Heads },
  { position, role, at }: Turning,
): void {
  const { key, value } = newRows;
  checkReserved('attendHeads', rows, newRows);
  const keys = rowsOfPart(rows, 'key', key.shape);
  if (position?.rotateInto) position.rotateInto(keys, rowsOfHeads(key), role, at);
  else copyHeads(rowsOfHeads(position?.rotate?.(splitAs(key), role, at) ?? key), keys);
  copyHeads(rowsOfHeads(value), rowsOfPart(rows, 'value', value.shape));
}

/** The rows of heads, split or not. */
export function rowsOfHeads(heads: Heads): HeadRows {
  const { shape } = heads;
  const [, H, S, D] = shape;
  const tokens = () => S;
  return heads instanceof UnsplitHeads
    ? { data: heads.merged, shape, tokens, indexOf: (b, h, s) => ((b * S + s) * H + h) * D }
    : { data: heads, shape, tokens, indexOf: (b, h, s) => ((b * H + h) * S + s) * D };
}

function rowsOfPart(
  { headStride, runs, ...matrices }: KeyValuePart,
  name: 'key' | 'value',
  shape: HeadRows['shape'],
): HeadRows {
  const { data, first } = matrices[name];
  const width = data.shape[1];
  const runsOf: Int32Array[] = [];
  const runsOfEntry = (b: number) => {
    runsOf[b] ??= runs(b);
    return runsOf[b];
  };
  return {
    data,
    shape,
    tokens(b) {
      const own = runsOfEntry(b);
      let count = 0;
      for (let n = 1; n < own.length; n += 2) count += own[n]!;
      return count;
    },
    indexOf(b, h, s) {
      const own = runsOfEntry(b);
      let n = 0;
      for (; s >= own[n + 1]!; n += 2) s -= own[n + 1]!;
      return (own[n]! + h * headStride + s) * width + first;
    },
  };
}

// Up to here a loop costs less than `copyWithin`.
const shortRow = 128;

function copyHeads(heads: HeadRows, to: HeadRows): void {
  const [B, H, , D] = heads.shape;
  const [from, target] = [addressOnHeap(heads.data) / 4, addressOnHeap(to.data) / 4];
  const { floats } = wordsOf(heapMemory()!);
  for (let b = 0; b < B; b++) {
    const tokens = to.tokens(b);
    for (let s = 0; s < tokens; s++) {
      for (let h = 0; h < H; h++) {
        const begin = from + heads.indexOf(b, h, s);
        const shift = target + to.indexOf(b, h, s) - begin;
        if (D > shortRow) floats.copyWithin(begin + shift, begin, begin + D);
        else for (let at = begin; at < begin + D; at++) floats[at + shift] = floats[at]!;
      }
    }
  }
}
