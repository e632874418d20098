// Weights of a call in plain JavaScript: the scores of the kernel again, and exp(score - logSumExp) of each.
import type { KernelCall, Span } from '@polyhead/core';
import { callTensors, hasSynchronousRead } from '@polyhead/core/kernel';
import type { CallWeights, WeightRegion, WeightSource, WeightTile } from '../weight-tiles';
import { unreadable } from './flash-cpu';
import { forward } from './forward';
import { type HostCall, hostCall, weightsOnly } from './host-call';
import { scorePairs } from './pair-scores';
import { emptyRowQueries, type RowQuery, readQuery } from './row-queries';
import { type KeyTile, type QueryRow, rowsPerTile, rowTiles, tileLoader, visibleSpans } from './tiles';
import { emptyPairs, findVisible, type Pairs } from './visible-pairs';

const tileSizes = { rows: 64, keys: 64 };

export const cpuWeights: WeightSource = {
  unsupported: () =>
    hasSynchronousRead() ? [] : [`${unreadable()}: ask a layer for its weights, or take backend "wasm"`],
  open(call: KernelCall): CallWeights {
    const found = weightsOnly(hostCall(call, callTensors(call), tileSizes));
    return {
      logSumExp: ({ heads, rows }) => forward({ ...found, only: { heads, rows } }).logSumExp,
      visit: ({ heads, rows, columns }: WeightRegion, logSumExp, take) =>
        visit({ ...found, only: { heads, rows } }, { columns, logSumExp }, take),
    };
  },
};

interface Asked {
  readonly columns: Span;
  readonly logSumExp: Float64Array; // [B, Hq, Sq]
}

interface Workspace {
  readonly queries: readonly RowQuery[];
  readonly pairs: Pairs;
  readonly weights: Float64Array;
}

function visit(call: HostCall, { columns, logSumExp }: Asked, take: (tile: WeightTile) => void): void {
  const { sizes, tile: size } = call;
  const loadTile = tileLoader(call);
  const workspace = {
    queries: emptyRowQueries(call),
    pairs: emptyPairs(call),
    weights: new Float64Array(rowsPerTile(call) * size.keys),
  };
  for (let b = 0; b < sizes.B; b++) {
    for (let head = 0; head < sizes.Hkv; head++) {
      for (const rowTile of rowTiles(call, b, head)) {
        for (const row of rowTile.rows) readQuery(call, row, workspace.queries[row.slot]!);
        for (const span of visibleSpans(rowTile.rows, size.keys, columns)) {
          const tile = loadTile(rowTile, span);
          for (const rows of byHead(rowTile.rows)) {
            take(weightsOf(call, { rows, tile, logSumExp }, workspace));
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
  call: HostCall,
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
