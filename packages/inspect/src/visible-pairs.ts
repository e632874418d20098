// How many pairs of query and key a call has, counted from its mask and not from a tensor.
import { ConfigError, type Mask, UnsupportedError } from '@polyhead/core';
import { countPairs } from '@polyhead/core/kernel';
import { checkNumber, checkSizes, normalizeOptions } from '@polyhead/core/layer';

/** The sizes of a call, and what hides pairs in it. */
export interface PairsCall {
  /** B. Default: 1. */
  readonly batch?: number | undefined;
  /** Sq. */
  readonly queries: number;
  /** Skv. Default: Sq. */
  readonly keys?: number | undefined;
  /** Default: all pairs are visible. */
  readonly mask?: Mask | undefined;
  /** Keys that exist, for each batch entry, as in a cache of unequal lengths. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** Token order of query row 0, one or for each batch entry. Default: the last query stands at the last key. */
  readonly queryStart?: number | readonly number[] | undefined;
}

/** Rows of a mask that are counted in seconds. */
const mostRows = 2 ** 26;

export const pairsOptions: readonly (keyof PairsCall)[] = [
  'batch',
  'queries',
  'keys',
  'mask',
  'lengths',
  'queryStart',
];

/**
 * Visible pairs over the whole call, B · Hq · Sq · Skv of them without a mask: exactly what is multiplied where hidden
 * pairs are skipped. Nothing is allocated in TensorFlow.js.
 *
 * @param heads Hq
 * @throws ConfigError for sizes that cannot be, ShapeError where the mask was made for others
 * @throws UnsupportedError for a dense mask: what it hides only its tensor knows
 * @example
 * visiblePairs({ queries: 4, mask: causal() }); // 10
 */
export function visiblePairs(call: PairsCall, heads = 1): number {
  const where = 'visiblePairs';
  const options = normalizeOptions(where, 'call', call, pairsOptions) as PairsCall;
  const { batch = 1, queries, keys = queries, mask } = options;
  checkSizes(where, { batch, heads, queries, keys });
  const existing = existingKeys(where, options);
  if (!mask) return heads * queries * existing;
  checkMask(where, mask);
  if (mask.dense) {
    throw new UnsupportedError(where, 'pairs are counted from spans', ['the mask holds a dense tensor']);
  }
  const lengths = options.lengths ?? [keys]; // one for all: the mask is compiled once
  const queryStart = [options.queryStart ?? lengths.map((length) => length - queries)].flat();
  checkStarts(where, queryStart, batch);
  const isRagged = mask.perBatch || lengths.length > 1 || queryStart.length > 1;
  checkRows(where, queries * (isRagged ? batch : 1) * (mask.perHead ? heads : 1));
  return countPairs(mask, { batch, heads, queries, keys, lengths, queryStart, keyOrder: { start: [0] } });
}

/** Keys that exist, in all batch entries together. */
export function existingKeys(
  where: string,
  { batch = 1, queries, keys = queries, lengths }: PairsCall,
): number {
  if (!lengths) return batch * keys;
  if (!Array.isArray(lengths) || lengths.length !== batch) {
    throw new ConfigError(where, 'lengths must have one number for each batch entry', { lengths, batch });
  }
  for (const length of lengths) {
    const fits = (n: number) => Number.isInteger(n) && n >= 0 && n <= keys;
    checkNumber(where, 'lengths', length, [fits, `whole numbers from 0 to ${keys}, the keys`]);
  }
  return lengths.reduce((sum, length) => sum + length, 0);
}

/** @throws UnsupportedError where counting row by row would take minutes */
function checkRows(where: string, rows: number): void {
  if (rows <= mostRows) return;
  throw new UnsupportedError(
    where,
    'pairs of a mask are counted row by row',
    [`there are more than ${mostRows} rows: count a part of them`],
    { rows },
  );
}

function checkMask(where: string, mask: Mask): void {
  if (typeof mask === 'object' && typeof mask.spans === 'function') return;
  throw new ConfigError(where, 'mask must be a Mask, such as causal()', { mask });
}

function checkStarts(where: string, queryStart: readonly number[], batch: number): void {
  for (const start of queryStart) {
    checkNumber(where, 'queryStart', start, [Number.isInteger, 'whole numbers']);
  }
  if (queryStart.length === 1 || queryStart.length === batch) return;
  throw new ConfigError(where, 'queryStart must be one number, or one for each batch entry', {
    queryStart,
    batch,
  });
}
