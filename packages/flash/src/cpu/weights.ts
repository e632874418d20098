// Weights of a call in plain JavaScript: the scores of the kernel again, and exp(score - logSumExp) of each.
import type { KernelCall, Span } from '@polyhead/core';
import { backendTraits, callTensors } from '@polyhead/core/kernel';
import type { CallWeights, WeightRegion, WeightSource, WeightTile } from '../statistics/weight-tiles';
import { type Call, callOnHost, weightsOnly } from './call';
import { unreadable } from './flash-cpu';
import { forward } from './forward';
import { type KeyTile, keyTileLoader, visibleSpans } from './key-tile';
import { emptyPairs, findVisible, type Pairs } from './masks';
import {
  emptyRowQueries,
  type QueryRow,
  queryTiles,
  type RowQuery,
  readQuery,
  rowsPerTile,
} from './query-tile';
import { scorePairs } from './scores';

const tileSizes = { rows: 64, keys: 64 };

export const cpuWeights: WeightSource = {
  unsupported: () =>
    backendTraits().synchronousRead
      ? []
      : [`${unreadable()}: ask a layer for its weights, or take backend "wasm"`],
  open(call: KernelCall): CallWeights {
    const written = weightsOnly(callOnHost(call, callTensors(call), tileSizes));
    return {
      logSumExp: ({ heads, rows }) => forward({ ...written, only: { heads, rows } }).logSumExp,
      visit: ({ heads, rows, columns }: WeightRegion, logSumExp, onTile) =>
        visit({ ...written, only: { heads, rows } }, { columns, logSumExp }, onTile),
    };
  },
};

interface WeightRequest {
  readonly columns: Span;
  readonly logSumExp: Float64Array; // [B, Hq, Sq]
}

interface Workspace {
  readonly queries: readonly RowQuery[];
  readonly pairs: Pairs;
  readonly weights: Float64Array;
}

function visit(call: Call, { columns, logSumExp }: WeightRequest, onTile: (tile: WeightTile) => void): void {
  const { sizes, tile: size } = call;
  const loadTile = keyTileLoader(call);
  const workspace = {
    queries: emptyRowQueries(call),
    pairs: emptyPairs(call),
    weights: new Float64Array(rowsPerTile(call) * size.keys),
  };
  for (let b = 0; b < sizes.B; b++) {
    for (let head = 0; head < sizes.Hkv; head++) {
      for (const queryTile of queryTiles(call, b, head)) {
        for (const row of queryTile.rows) readQuery(call, row, workspace.queries[row.slot]!);
        for (const span of visibleSpans(call, queryTile, columns)) {
          const tile = loadTile(queryTile, span);
          for (const rows of byHead(queryTile.rows)) {
            onTile(weightsOf(call, { rows, tile, logSumExp }, workspace));
          }
        }
      }
    }
  }
}

/** The rows of a tile, one list for each query head. */
function byHead(rows: readonly QueryRow[]): readonly (readonly QueryRow[])[] {
  const heads = [...new Set(rows.map(({ h }) => h))];
  return heads.map((h) => rows.filter((row) => row.h === h));
}

interface HeadTile {
  readonly rows: readonly QueryRow[]; // of one head, in order
  readonly tile: KeyTile;
  readonly logSumExp: Float64Array;
}

function weightsOf(
  call: Call,
  { rows, tile, logSumExp }: HeadTile,
  { queries, pairs, weights }: Workspace,
): WeightTile {
  const [from, to] = tile.span;
  const width = to - from;
  weights.fill(0, 0, rows.length * width);
  rows.forEach((row, n) => {
    findVisible(call, row, tile, pairs);
    if (pairs.count === 0) return;
    scorePairs(call, { row, tile }, queries[row.slot]!, pairs);
    const { columns, count, scores } = pairs;
    for (let p = 0; p < count; p++) {
      weights[n * width + columns[p]!] = Math.exp(scores[p]! - logSumExp[row.n]!);
    }
  });
  const { b, h, i } = rows[0]!;
  return { b, h, rows: [i, i + rows.length], columns: tile.span, weights };
}
