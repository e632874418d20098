// Products of many rows. The right factor is packed a group of columns at a time, the left one a block of rows at a time; a
// panel of eight columns and a tile of rows then lie in the first cache while tiles are computed.
import { widen } from './blocks';
import { Product } from './call';
import { pack, packPanels } from './pack';
import { fourRows, sixRows, TILE_COLUMNS, TILE_ROWS } from './tile';

/** Terms that are summed in registers: of more, sums are added. A panel of them fills half of a first cache of 32 KiB. */
const TERMS: i32 = 512;
/** Rows of a block: 16 tiles of six, 24 of four. */
const ROWS: i32 = 96;
/** Columns of a group: few where the rows are packed only once, many where once for each group. */
const FEW_COLUMNS: i32 = 64;
const MANY_COLUMNS: i32 = 512;
/** Bytes between panels: no power of two, whose panels would share places in a cache. */
const PANEL: usize = ((TERMS * TILE_COLUMNS) << 2) + 64;

/** Where the parts of a workspace begin. */
const ZEROS: usize = 0; // eight zeros
const BIAS: usize = 32; // that of the last columns
const EDGE: usize = 64; // a tile at the edge: six rows of eight
const PACKED: usize = 256; // 1 + the first column of the panels that are packed, of all terms; 0: none
const LEFT: usize = 320; // [ROWS, TERMS]
const WIDE: usize = LEFT + ((ROWS * TERMS) << 2); // eight columns of blocks as floats
const RIGHT: usize = WIDE + ((TILE_COLUMNS * TERMS) << 2); // panels of a group

@inline
function groupOf(product: Product): i32 {
  return product.rows <= ROWS ? FEW_COLUMNS : MANY_COLUMNS;
}

/** Bytes of the workspace that one thread needs. */
export function workspaceOf(product: Product): usize {
  const columns = min(groupOf(product), product.columns);
  const panels = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
  return RIGHT + (panels as usize) * PANEL;
}

/** Gets a workspace ready for parts of one product. */
export function beginRows(workspace: usize): void {
  memory.fill(workspace + ZEROS, 0, 32);
  store<i32>(workspace + PACKED, 0);
}

/** The rows [first, last) of the columns [from, to) of a product. */
export function multiplyRows(
  product: Product,
  workspace: usize,
  first: i32,
  last: i32,
  from: i32,
  to: i32,
): void {
  const group = groupOf(product);
  const isOneBlock = last - first <= ROWS;
  for (let term = 0; term < product.terms; term += TERMS) {
    const terms = min(TERMS, product.terms - term);
    if (isOneBlock) packRows(product, first, last - first, term, terms, workspace + LEFT);
    for (let column = from; column < to; column += group) {
      const end = min(to, column + group);
      packPanelsOf(product, column, end, term, terms, workspace);
      for (let row = first; row < last; row += ROWS) {
        const rows = min(ROWS, last - row);
        if (!isOneBlock) packRows(product, row, rows, term, terms, workspace + LEFT);
        multiplyBlock(product, workspace, row, rows, column, end, term, terms);
      }
    }
  }
}

/** A group of columns, unless it is packed: a thread that computes some rows after others finds it there. */
function packPanelsOf(product: Product, column: i32, end: i32, term: i32, terms: i32, workspace: usize): void {
  const isWhole = terms === product.terms;
  if (isWhole && load<i32>(workspace + PACKED) === column + 1) return;
  store<i32>(workspace + PACKED, isWhole ? column + 1 : 0);
  if (product.format !== 0) packBlocks(product, column, end, term, terms, workspace);
  else packColumns(product, column, end, term, terms, workspace + RIGHT);
}

/** How many rows the next tile has, of those that are left. */
@inline
function tileOf(rows: i32): i32 {
  return TILE_ROWS === 6 && rows > 4 && rows !== 8 ? 6 : 4;
}

function packRows(product: Product, row: i32, rows: i32, term: i32, terms: i32, to: usize): void {
  const leftRow = product.leftRow;
  const leftTerm = product.leftTerm;
  let from = product.left + (row as usize) * leftRow + (term as usize) * leftTerm;
  for (let left = rows; left > 0; ) {
    const tile = tileOf(left);
    pack(from, leftRow, leftTerm, min(left, tile), terms, tile, to);
    from += (tile as usize) * leftRow;
    to += ((tile * terms) as usize) << 2;
    left -= tile;
  }
}

function packColumns(product: Product, column: i32, end: i32, term: i32, terms: i32, to: usize): void {
  const columnStep = product.rightColumn;
  const termStep = product.rightTerm;
  while (column < end) {
    const from = product.right + (column as usize) * columnStep + (term as usize) * termStep;
    const panels = columnStep === 4 && column + 4 * TILE_COLUMNS <= end ? 4 : 1;
    if (panels === 4) packPanels(from, termStep, terms, to, PANEL);
    else pack(from, columnStep, termStep, min(TILE_COLUMNS, end - column), terms, TILE_COLUMNS, to);
    column += panels * TILE_COLUMNS;
    to += (panels as usize) * PANEL;
  }
}

/** Columns of blocks, widened eight at a time. */
function packBlocks(product: Product, column: i32, end: i32, term: i32, terms: i32, workspace: usize): void {
  const step = (TERMS as usize) << 2;
  let to = workspace + RIGHT;
  for (; column < end; column += TILE_COLUMNS, to += PANEL) {
    const columns = min(TILE_COLUMNS, end - column);
    for (let n = 0; n < columns; n++) {
      widen(product, column + n, term >> 5, (terms + 31) >> 5, workspace + WIDE + (n as usize) * step);
    }
    pack(workspace + WIDE, step, 4, columns, terms, TILE_COLUMNS, to);
  }
}

/** Packed rows and panels multiplied. What there is of earlier terms is added: shorter sums are nearer the truth. */
function multiplyBlock(
  product: Product,
  workspace: usize,
  row: i32,
  rows: i32,
  column: i32,
  end: i32,
  term: i32,
  terms: i32,
): void {
  const step = (product.columns as usize) << 2;
  const edge = workspace + EDGE;
  let panel = workspace + RIGHT;
  for (; column < end; column += TILE_COLUMNS, panel += PANEL) {
    const columns = min(TILE_COLUMNS, end - column);
    const start = startOf(product, workspace, column, columns, term);
    let packed = workspace + LEFT;
    let to = product.to + (row as usize) * step + ((column as usize) << 2);
    for (let left = rows; left > 0; ) {
      const tile = tileOf(left);
      const isWhole = term === 0 && left >= tile && columns === TILE_COLUMNS;
      if (tile === 6) sixRows(packed, panel, terms, start, isWhole ? to : edge, isWhole ? step : 32);
      else fourRows(packed, panel, terms, start, isWhole ? to : edge, isWhole ? step : 32);
      if (!isWhole) writePart(edge, min(left, tile), columns, to, step, term > 0);
      packed += ((tile * terms) as usize) << 2;
      to += (tile as usize) * step;
      left -= tile;
    }
  }
}

/** What the sums of eight columns begin with: the bias once, else zeros. */
function startOf(product: Product, workspace: usize, column: i32, columns: i32, term: i32): usize {
  if (product.bias === 0 || term > 0) return workspace + ZEROS;
  const bias = product.bias + ((column as usize) << 2);
  if (columns === TILE_COLUMNS) return bias;
  memory.copy(workspace + BIAS, bias, (columns as usize) << 2);
  return workspace + BIAS;
}

/** The part of a tile that lies inside, written or added. */
function writePart(tile: usize, rows: i32, columns: i32, to: usize, step: usize, adds: bool): void {
  for (let row = 0; row < rows; row++, tile += 32, to += step) {
    if (columns === TILE_COLUMNS) {
      v128.store(to, adds ? f32x4.add(v128.load(to), v128.load(tile)) : v128.load(tile));
      v128.store(to, adds ? f32x4.add(v128.load(to, 16), v128.load(tile, 16)) : v128.load(tile, 16), 16);
      continue;
    }
    for (let at: usize = 0; at < ((columns as usize) << 2); at += 4) {
      store<f32>(to + at, load<f32>(tile + at) + (adds ? load<f32>(to + at) : 0));
    }
  }
}
