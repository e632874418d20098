// What one thread works in, shared by all tiles.
import { Call } from './call';

export const LANES: i32 = 8; // query rows of a panel

/** A query row of a tile. */
@unmanaged
export class Row {
  n: i32; // among all rows [B, Hq, Sq]; -1: none, its numbers are zeros
  h: i32;
  i: i32;
  spans: usize; // visible keys: from, to, from, to, ...
  from: i32; // the first visible key
  to: i32; // one past the last
  position: i32;
}

/** Table rows of consecutive distances, the largest first. */
@unmanaged
export class Line {
  from: i32; // distances [from, to)
  to: i32;
  rows: usize; // [to - from]
}

/** The table rows of the pairs of a panel: those of a key lie side by side. */
@unmanaged
export class Lookup {
  at: usize; // of the first key
  stride: i32; // bytes from one key to the next
  uniform: i32; // the row of all pairs, -1 where they have none; -2: they differ
  from: i32; // all rows are in [from, to)
  to: i32;
}

/** Products of table rows with eight rows, made when they are first asked for. */
@unmanaged
export class Products {
  numbers: usize; // [groups, R, LANES]
  stamps: usize; // [groups, R]: which are made
  stamp: i32;
  R: i32;
}

/** Eight rows, and the keys of the current tile that any of them sees. */
@unmanaged
export class Panel {
  from: i32;
  to: i32;
  partial: i32; // 1: some row does not see some key in between
  h: i32; // the head of all rows, where there are tables
  isConsecutive: i32; // 1: positions of rows follow each other
  valueTableFrom: i32; // rows of the table of values that have weights
  valueTableTo: i32;
  keyTableFrom: i32; // rows of the table of keys whose products have gradients
  keyTableTo: i32;
}

// One flat class, ordered by who reads: a group of its own would be a pointer more to load wherever its numbers are read.
@unmanaged
export class Workspace {
  // The tile's queries: query-tile.ts writes them, nearly all read them.
  rows: usize; // Row
  panels: usize; // Panel
  rowCount: i32;
  fewRows: i32; // 0: queries lie number by number, [panels, D, LANES]; 1 or 4: so many rows, [fewRows, D]
  panelCount: i32;
  b: i32;
  head: i32;
  queries: usize;
  columns: i32; // Dv, up to the next multiple of 8
  keyColumns: i32; // of keys of a tile: D; in the backward pass up to the next multiple of 8
  ones: usize; // [LANES]
  // The tile's keys and values: key-tile.ts writes them, products read them.
  tileFrom: i32; // the first key of the current tile
  tileCount: i32;
  keysAreConsecutive: i32; // 1: their positions follow each other
  run: usize; // where the last token was found
  inPieces: i32; // 1: keys and values are those of a piece, see key-tile.ts
  keys: usize; // of the current tile
  keyStride: usize; // bytes
  values: usize;
  valueStride: usize;
  gatheredKeys: usize; // [keysPerTile, keyColumns], where rows have to be gathered
  gatheredValues: usize; // [keysPerTile, columns]
  // Softmax and outputs: scores.ts, softmax.ts, dropout.ts, forward.ts, and score-gradients.ts on the way back.
  scores: usize; // [panels, keysPerTile, LANES], then weights
  rowMax: usize; // [panels, LANES]
  rowSum: usize;
  factors: usize; // what earlier outputs are multiplied by
  shrink: f32; // what weights are multiplied by before they meet values: 1, unless their sums overflow
  draws: usize; // [panels, LANES], what dropout draws of a row begin with
  outputs: usize; // [panels, LANES, columns]
  // The backward pass: backward.ts, score-gradients.ts.
  delta: usize; // [panels, LANES]
  tanhs: usize; // [keysPerTile, LANES], where there is softcap: of scores over it
  kept: usize; // [keysPerTile, LANES], what dropout multiplies by
  scoreGradients: usize; // [panels, keysPerTile, LANES]
  queryRows: usize; // [panels, LANES, keyColumns], times scale
  queryGradients: usize; // the same, of queries times scale
  outputGradients: usize; // [panels, Dv, LANES]
  outputGradientRows: usize; // [panels, LANES, columns]
  // All tables: lookup.ts, table-products.ts.
  lookup: Lookup;
  lines: usize; // Line, of each table
  entries: usize; // [keysPerTile, LANES], table rows where positions are no line
  // bias-table.ts
  biasTableNumbers: usize; // the same of biases
  // key-table.ts, and tables.ts for its queries
  keyTableQueries: usize; // as queries, for the table of keys
  keyTableProducts: Products; // of rows of the table of keys with queries: [panels, R, LANES]
  keyTableSums: usize; // [panels, R, LANES], gradients of the products
  keyTableQueryRows: usize; // as queryRows, of the table's own queries
  keyTableQueryGradients: usize;
  // value-table.ts
  valueTableProducts: Products; // of rows of the table of values with gradients of outputs
  valueTableSums: usize; // [panels, R, LANES], of the table of values
  // query-table.ts
  queryTableProducts: Products; // of rows of the table of queries with keys: [keysPerTile / LANES, R, LANES]
  queryTableHead: i32; // whose products `queryTableProducts` has
  queryTableSums: usize; // [keysPerTile / LANES, R, LANES]
  keyPanels: usize; // [keysPerTile / LANES, D, LANES], the keys of the tile
  scaledKeys: usize; // [keysPerTile, keyColumns], the keys of the tile times scale, and zeros behind them
  keySums: usize; // [LANES, keyColumns]
}

@inline
export function rowOf(workspace: Workspace, slot: i32): Row {
  return changetype<Row>(workspace.rows + (slot as usize) * offsetof<Row>());
}

@inline
export function panelOf(workspace: Workspace, p: i32): Panel {
  return changetype<Panel>(workspace.panels + (p as usize) * offsetof<Panel>());
}

/** What `layoutWorkspace` has divided. */
export function workspaceAt(at: usize): Workspace {
  return changetype<Workspace>(aligned(at));
}

export function aligned(size: usize): usize {
  return (size + 63) & ~63;
}
