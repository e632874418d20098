// Attention by its definition: nested loops over doubles, every option. What every kernel is measured against.
//
//   scores    = softcap(scale · (q·k + table terms)) + bias + table bias,   softcap(x) = c · tanh(x / c)
//   logSumExp = log(Σ exp(scores of visible keys) + exp(sink))
//   weights   = exp(scores - logSumExp)
//   output    = Σ weights · keep · (v + table value)
import type { DistanceIndex } from '@polyhead/core';

export interface Sizes {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
  readonly Dv: number;
}

/** Numbers on the host, row-major. */
export interface HostTensor {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** A table looked up by distance: `[1 | Hq, R, width]`, or `[Hq, R]` for a bias. */
export interface OracleTable extends HostTensor {
  readonly index: DistanceIndex;
}

export interface OracleInputs {
  readonly sizes: Sizes;
  readonly query: Float64Array; // [B, Hq, Sq, D]
  readonly key: Float64Array; // [B, Hkv, Skv, D]
  readonly value: Float64Array; // [B, Hkv, Skv, Dv]
  readonly scale?: number; // default 1 / sqrt(D)
  readonly isVisible?: (b: number, h: number, i: number, j: number) => boolean;
  readonly bias?: HostTensor; // [B | 1, Hq | 1, Sq | 1, Skv | 1]; -Infinity hides a pair
  readonly softcap?: number; // absent or 0: off
  readonly sinkLogits?: Float64Array; // [Hq]
  /** What dropout multiplies a weight with: 0, or 1 / (1 - rate). */
  readonly keep?: (b: number, h: number, i: number, j: number) => number;
  readonly relative?: {
    readonly bias?: OracleTable;
    readonly keys?: OracleTable & { readonly query?: Float64Array };
    readonly queries?: OracleTable;
    readonly values?: OracleTable;
  };
  /** Those of a kernel's own, for its definition; softmax attention has none. */
  readonly tensors?: { readonly [name: string]: HostTensor };
  /** Where tokens stand, for the tables; default: the last query stands at the last key. */
  readonly positions?: { query(b: number, i: number): number; key(b: number, j: number): number };
}

export interface OracleResult {
  readonly output: Float64Array; // [B, Hq, Sq, Dv]
  readonly weights: Float64Array; // [B, Hq, Sq, Skv], before dropout
  readonly logSumExp: Float64Array; // [B, Hq, Sq]
  readonly maxAbsScore: number;
}

type Row = readonly [b: number, h: number, i: number];

export function attentionOracle(inputs: OracleInputs): OracleResult {
  const { B, Hq, Sq, Skv, Dv } = inputs.sizes;
  const output = new Float64Array(B * Hq * Sq * Dv);
  const weights = new Float64Array(B * Hq * Sq * Skv);
  const logSumExp = new Float64Array(B * Hq * Sq);
  let maxAbsScore = 0;
  for (let b = 0; b < B; b++) {
    for (let h = 0; h < Hq; h++) {
      for (let i = 0; i < Sq; i++) {
        const n = (b * Hq + h) * Sq + i;
        const scores = scoresOf(inputs, [b, h, i]);
        logSumExp[n] = logSumExpOf([...scores.values(), inputs.sinkLogits?.[h] ?? Number.NEGATIVE_INFINITY]);
        const row = new Map([...scores].map(([j, score]) => [j, Math.exp(score - logSumExp[n]!)]));
        for (const [j, weight] of row) weights[n * Skv + j] = weight;
        output.set(weightedValues(inputs, [b, h, i], row), n * Dv);
        for (const score of scores.values()) maxAbsScore = Math.max(maxAbsScore, Math.abs(score));
      }
    }
  }
  return { output, weights, logSumExp, maxAbsScore };
}

/** The scores of one row's visible keys, by key. Hidden pairs are never looked at, so nothing of theirs can leak. */
function scoresOf(inputs: OracleInputs, [b, h, i]: Row): Map<number, number> {
  const { sizes, isVisible, scale = 1 / Math.sqrt(sizes.D), softcap, relative } = inputs;
  const { Hq, Sq, Skv, D } = sizes;
  const at = ((b * Hq + h) * Sq + i) * D;
  const q = inputs.query.subarray(at);
  const ownQuery = relative?.keys?.query?.subarray(at) ?? q;
  const scores = new Map<number, number>();
  for (let j = 0; j < Skv; j++) {
    const bias = inputs.bias === undefined ? 0 : entryAt(inputs.bias, [b, h, i, j]);
    if (isVisible?.(b, h, i, j) === false || bias === Number.NEGATIVE_INFINITY) continue;
    const k = inputs.key.subarray((keyHead(sizes, b, h) * Skv + j) * D);
    const distance = distanceOf(inputs, b, i, j);
    let product = dot(q, k, D);
    if (relative?.keys) product += dot(ownQuery, rowAt(relative.keys, h, distance), D);
    if (relative?.queries) product += dot(k, rowAt(relative.queries, h, distance), D);
    const scaled = scale * product;
    const capped = softcap ? softcap * Math.tanh(scaled / softcap) : scaled;
    scores.set(j, capped + bias + (relative?.bias ? rowAt(relative.bias, h, distance)[0]! : 0));
  }
  return scores;
}

function weightedValues(inputs: OracleInputs, [b, h, i]: Row, weights: Map<number, number>): Float64Array {
  const { sizes, keep, relative } = inputs;
  const sum = new Float64Array(sizes.Dv);
  for (const [j, weight] of weights) {
    const kept = weight * (keep?.(b, h, i, j) ?? 1);
    const v = inputs.value.subarray((keyHead(sizes, b, h) * sizes.Skv + j) * sizes.Dv);
    const tableValue = relative?.values && rowAt(relative.values, h, distanceOf(inputs, b, i, j));
    for (let d = 0; d < sizes.Dv; d++) sum[d]! += kept * (v[d]! + (tableValue?.[d] ?? 0));
  }
  return sum;
}

/** Query head h reads key/value head floor(h / (Hq / Hkv)). */
const keyHead = ({ Hq, Hkv }: Sizes, b: number, h: number) => b * Hkv + Math.floor((h * Hkv) / Hq);

function logSumExpOf(scores: readonly number[]): number {
  const max = Math.max(...scores);
  if (max === Number.NEGATIVE_INFINITY) return max; // nothing visible
  return max + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - max), 0));
}

/** Key position - query position. */
function distanceOf({ sizes, positions }: OracleInputs, b: number, i: number, j: number): number {
  return positions ? positions.key(b, j) - positions.query(b, i) : j - (sizes.Skv - sizes.Sq + i);
}

function rowAt({ shape, data, index }: OracleTable, h: number, distance: number): Float64Array {
  const [heads = 1, rows = 1, width = 1] = shape;
  const slot = distance - index.from;
  const row = index.rows ? index.rows[Math.min(Math.max(slot, 0), index.rows.length - 1)]! : slot;
  return data.subarray(((heads === 1 ? 0 : h) * rows + row) * width);
}

/** The entry a broadcast tensor has at an index: axes of size 1 serve every place. */
export function entryAt({ shape, data }: HostTensor, at: readonly number[]): number {
  return data[shape.reduce((flat, size, axis) => flat * size + (size === 1 ? 0 : at[axis]!), 0)]!;
}

function dot(a: Float64Array, b: Float64Array, size: number): number {
  let sum = 0;
  for (let d = 0; d < size; d++) sum += a[d]! * b[d]!;
  return sum;
}
