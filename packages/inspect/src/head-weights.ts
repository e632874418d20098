// Attention weights on the host: what is drawn and measured here.
import { ConfigError, ShapeError } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { type EntryOptions, readEntry } from './read-entry';

/** `heads[h][i][j]`: the weight, from 0 to 1, of key j for query i. One batch entry. */
export type HeadWeights = readonly (readonly (readonly number[])[])[];

/**
 * The weights of one batch entry, read from a tensor, which stays the caller's. Nothing else is left in memory.
 *
 * @param weights [B, H, Sq, Skv], as a layer gives them, or [H, Sq, Skv]; a pooled map has blocks in place of tokens
 * @throws ShapeError for another rank, a disposed tensor, or a batch entry that is not there
 * @example
 * const { weights } = attention.apply({ query }, { returns: ['weights'] });
 * const heads = await readHeads(weights, { entry: 1 });
 */
export async function readHeads(
  weights: tf.Tensor3D | tf.Tensor4D,
  options: EntryOptions = {},
): Promise<HeadWeights> {
  return (await readEntry('readHeads', ['weights', 'H, Sq, Skv'], weights, options)) as number[][][];
}

/** [H, Sq, Skv]. @throws ShapeError unless there is at least one head, and all rows are of one length */
export function headsShape(where: string, heads: HeadWeights): readonly [number, number, number] {
  const rule = 'heads must be numbers [H, Sq, Skv], none of them 0';
  if (!Array.isArray(heads)) throw new ShapeError(where, rule, { heads });
  const Sq = heads[0]?.length ?? 0;
  const Skv = heads[0]?.[0]?.length ?? 0;
  const isRow = (row: unknown) => isList(row, Skv) && row.every((weight) => typeof weight === 'number');
  const even = heads.every((rows) => isList(rows, Sq) && rows.every(isRow));
  if (Sq > 0 && Skv > 0 && even) return [heads.length, Sq, Skv];
  throw new ShapeError(where, rule, {
    heads: heads.length,
    'Sq of each head': heads.map((rows) => rows?.length),
    'Skv of the first row': Skv,
  });
}

const isList = (value: unknown, length: number): value is readonly unknown[] =>
  Array.isArray(value) && value.length === length;

/** The largest weight that is a finite number, 0 where there is none. */
export function largestOf(heads: HeadWeights): number {
  let largest = 0;
  for (const row of heads.flat())
    for (const weight of row) if (weight > largest && weight < Infinity) largest = weight;
  return largest;
}

/** Two digits of the largest weight, and never fewer than two decimals, nor more than the 100 that JavaScript writes. */
export function decimalsOf(largest: number): number {
  return largest > 0 ? Math.min(100, Math.max(2, 1 - Math.floor(Math.log10(largest)))) : 2;
}

/** Smaller ones look all the same to two decimals, which is what a cell can hold. */
export const fitsCell = (largest: number) => largest === 0 || largest >= 0.05;

/** The tokens on the two axes of a map. */
export interface MapTokens {
  /** One for each query. */
  readonly queries: readonly string[];
  /** One for each key. Default: those of the queries, as in self-attention. */
  readonly keys?: readonly string[];
}

/** @throws ConfigError unless there is a token for each query and each key */
export function checkTokens(
  where: string,
  { queries, keys = queries }: MapTokens,
  [, Sq, Skv]: readonly [number, number, number],
): void {
  for (const [name, tokens] of Object.entries({ queries, keys })) {
    if (Array.isArray(tokens) && tokens.every((token) => typeof token === 'string')) continue;
    throw new ConfigError(where, `${name} must be a list of strings`, { [name]: tokens });
  }
  if (queries.length === Sq && keys.length === Skv) return;
  throw new ConfigError(where, 'there must be a token for each query and for each key', {
    'tokens of queries': queries.length,
    'tokens of keys': keys.length,
    '[Sq, Skv]': [Sq, Skv],
  });
}
