// For authors of caches: the base of those that keep rows, and what rows are copied with.

export type { NewRows } from '@polyhead/core';
export { rowBytes } from './predict-cache-bytes';
export type { LayerName } from './rows/cache-life';
export type { FreeRows } from './rows/row-cache';
export { RowCache } from './rows/row-cache';
export { writesInPlace } from './rows/row-columns';
export {
  equalLayout,
  gatherRows,
  packedLayout,
  packRows,
  type RowLayout,
  runsIn,
  selectTokens,
  type TokenRows,
  type TokenSpans,
  tokensOf,
  writeRows,
} from './rows/row-storage';
