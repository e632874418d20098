// What the host writes down of a call. The host finds the fields of `Call`, `Part`, `Matrix`, `Run` and `Dense` by their
// names and order in this file: each is four bytes wide. Addresses are of the memory that the module is given.

@unmanaged
export class Call {
  B: i32;
  Hq: i32;
  Hkv: i32;
  G: i32; // query heads that share a key/value head
  Sq: i32;
  Skv: i32;
  D: i32;
  Dv: i32;
  queriesPerTile: i32; // of each of the G heads
  keysPerTile: i32;
  query: usize; // [B, Hq, Sq, D]
  output: usize; // [B, Hq, Sq, Dv]
  shrink: f32; // so many weights times dropout's factor, times this, are at most 1
  rowMax: usize; // [B, Hq, Sq], of scores
  rowSum: usize; // [B, Hq, Sq], of exp(score - rowMax)
  scale: f32;
  softcap: f32; // 0: off
  inverseCap: f32; // 1 / softcap, as far as it is finite
  runs: usize; // Run: stored rows in token order
  runsOf: usize; // [B, 2]: first run of a batch entry, count
  spans: usize; // [planB, planH, Sq, planWidth, 2]
  planB: i32;
  planH: i32;
  planWidth: i32;
  bias: usize; // 0: none
  biasB: i32; // numbers from one batch entry, head, query and key to the next: 0 where they share one
  biasH: i32;
  biasQ: i32;
  biasK: i32;
  dense: usize; // Dense
  denseCount: i32;
  sinkLogits: usize; // [Hq]; 0: none
  dropoutThreshold: u32; // draws below it drop; 0: no dropout
  dropoutKept: f32; // what a kept weight is multiplied by
  dropoutSeed: i32;
  queryOrder: usize; // [B, Sq], token order, where there is dropout
  keyOrder: usize; // [B, Skv]
  queryPositions: usize; // [B, Sq], where there are tables
  keyPositions: usize; // [B, Skv]
  biasTable: usize; // Table; 0: none
  biasTableHides: i32; // 1: some number of it is -Infinity
  keyTable: usize;
  keyTableQuery: usize; // [B, Hq, Sq, D], what the table of keys is dotted with; 0: the query
  queryTable: usize;
  valueTable: usize;
  gradients: usize; // Gradients, of a backward pass; 0: forward
}

/** What the gradient of a call is made from, and into: numbers to be added to. */
@unmanaged
export class Gradients {
  output: usize; // the result, [B, Hq, Sq, Dv]
  outputGradient: usize; // of the result, [B, Hq, Sq, Dv]
  logSumExpGradient: usize; // [B, Hq, Sq]; 0: none
  query: usize; // [B, Hq, Sq, D]
  key: usize; // [B, Hkv, Skv, keyColumns]
  value: usize; // [B, Hkv, Skv, columns]
  bias: usize; // as the bias; 0: none
  biasTable: usize; // as the tables; that of biases in doubles
  keyTable: usize;
  keyTableQuery: usize;
  queryTable: usize;
  valueTable: usize;
  delta: usize; // [B, Hq, Sq]: the mean of the gradients of all weights, less that of log-sum-exp
}

/** A piece of storage. */
@unmanaged
export class Part {
  key: usize; // Matrix
  value: usize; // Matrix
  headStride: i32; // rows from one head to the next
}

@unmanaged
export class Matrix {
  data: usize;
  width: i32; // bytes from one row to the next
  first: i32; // bytes before the first number of a row
  bits: i32; // of a number: 32 for floats
  scale: usize;
  zero: usize; // 0: numbers have a sign
  scaleColumns: i32;
  rowsPerScale: i32;
}

/** Rows that follow each other. */
@unmanaged
export class Run {
  token: i32; // the first
  count: i32;
  row: i32; // of head 0
  part: usize; // Part
}

/** Rows of numbers looked up by the distance of a pair, key position - query position. */
@unmanaged
export class Table {
  rows: usize; // [1 | Hq, R, width]
  R: i32;
  width: i32; // numbers, a multiple of 8 but for biases: zeros behind those of a row
  headStride: i32; // numbers from one head to the next: 0 where all share the rows
  from: i32; // the distance of the first row or entry
  entries: usize; // rows by distance, the ends serving all beyond; 0: rows lie by distance
  entryCount: i32;
}

/** A mask: a number for each pair, 0 where it is hidden. */
@unmanaged
export class Dense {
  data: usize;
  size: i32; // bytes of a number: 1 or 4
  strideB: i32; // numbers from one batch entry to the next: 0 where all share one
  strideH: i32;
  strideQ: i32;
  strideK: i32;
}
