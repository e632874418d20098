// Compiles a mask for one call: sorted spans of visible key columns for each query row.
import * as tf from '@tensorflow/tfjs-core';
import type { Mask, MaskPlan, Span } from '../contract/mask';
import { normalizeSpans } from './spans';

/** Where the rows and columns of a call stand in token order. */
export interface MaskGeometry {
  readonly batch: number;
  readonly heads: number; // query heads
  readonly queries: number; // Sq
  readonly keys: number; // Skv
  /** Token order of query row 0: [1 | B]. */
  readonly queryStart: readonly number[];
  /** Token order of key column 0: [1 | B]. */
  readonly keyStart: readonly number[];
  /** Keys that exist: [1 | B]; columns from there on are hidden. */
  readonly lengths: readonly number[];
}

const remembered = new WeakMap<Mask, Map<string, MaskPlan>>();
const plansPerMask = 8; // a model's layers share a geometry; decoding has a new one at each step

/**
 * The plan of a mask in a call of this geometry. Its spans are remembered for each mask object; dense tensors are the
 * caller's, reshaped to rank 4 anew: call it inside a tidy.
 *
 * @throws ShapeError where the mask was made for other sizes
 */
export function compileMask(mask: Mask, geometry: MaskGeometry): MaskPlan {
  mask.check?.(geometry); // also finds a dense mask disposed since
  const plans = remembered.get(mask) ?? new Map<string, MaskPlan>();
  remembered.set(mask, plans);
  const { batch, heads, queries, keys, queryStart, keyStart, lengths } = geometry;
  const name = `${batch},${heads},${queries},${keys};${queryStart};${keyStart};${lengths}`;
  const plan = plans.get(name) ?? compile(mask, geometry);
  if (plans.size >= plansPerMask && !plans.has(name)) plans.delete(plans.keys().next().value!);
  plans.set(name, plan);
  return mask.dense ? { ...plan, dense: mask.dense.map(asRank4) } : plan;
}

/** The plan of a call without a mask. */
export function everyPair({ batch, heads, queries, keys }: MaskGeometry): MaskPlan {
  const rows = Array.from({ length: queries }, (): Span[] => [[0, keys]]);
  return planOfRows([1, 1, queries, keys], rows, { copies: batch * heads });
}

function compile(mask: Mask, geometry: MaskGeometry): MaskPlan {
  const { batch, heads, queries, keys, queryStart, keyStart, lengths } = geometry;
  const ragged = [queryStart, keyStart, lengths].some((values) => values.some((n) => n !== values[0]));
  const B = mask.perBatch || ragged ? batch : 1;
  const H = mask.perHead ? heads : 1;
  const rows: Span[][] = [];
  for (let b = 0; b < B; b++) {
    const start = at(keyStart, b);
    const end = start + at(lengths, b);
    for (let h = 0; h < H; h++) {
      for (let index = 0; index < queries; index++) {
        const row = { b, h, index, query: at(queryStart, b) + index, end };
        const visible = normalizeSpans(mask.spans(row), [start, end]);
        rows.push(visible.map(([from, to]): Span => [from - start, to - start]));
      }
    }
  }
  return planOfRows([B, H, queries, keys], rows, {
    copies: (batch / B) * (heads / H),
    hasDense: mask.dense !== undefined,
  });
}

/**
 * A plan from the sorted disjoint spans of each row, in row-major order of [B, H, queries].
 *
 * @param shape sizes of the plan; B and H may be 1 where all batch entries, or heads, share their rows
 * @param copies how many batch entries and heads of the call share one row
 */
export function planOfRows(
  [B, H, queries, keys]: readonly [B: number, H: number, queries: number, keys: number],
  rows: readonly (readonly Span[])[],
  { copies, hasDense = false }: { copies: number; hasDense?: boolean },
): MaskPlan {
  const width = rows.reduce((most, spans) => Math.max(most, spans.length), 1);
  const spans = new Int32Array(rows.length * width * 2);
  let visible = 0;
  rows.forEach((row, r) => {
    row.forEach(([from, to], n) => {
      spans[(r * width + n) * 2] = from;
      spans[(r * width + n) * 2 + 1] = to;
      visible += to - from;
    });
  });
  return {
    shape: [B, H, queries, width],
    spans,
    full: !hasDense && visible === rows.length * keys,
    dense: [],
    pairs: visible * copies,
    tile: (b, h, [r0, r1], columns) => {
      const first = ((B === 1 ? 0 : b) * H + (H === 1 ? 0 : h)) * queries;
      return tileOf(rows.slice(first + r0, first + r1), columns, hasDense);
    },
  };
}

/**
 * Visits the rows of a plan that a part of a call has, in order.
 *
 * @param visit given the place of the row's first span, and how many rows came before
 */
export function eachRowOfPlan(
  { shape: [B, H, R, width] }: MaskPlan,
  { batch, rows }: { readonly batch: Span; readonly rows: Span },
  visit: (firstSpan: number, n: number) => void,
): void {
  const [b0, b1] = B === 1 ? [0, 1] : batch;
  for (let b = b0, n = 0; b < b1; b++) {
    for (let h = 0; h < H; h++) {
      for (let row = rows[0]; row < rows[1]; row++, n++) visit(((b * H + h) * R + row) * width, n);
    }
  }
}

function tileOf(
  rows: readonly (readonly Span[])[],
  [c0, c1]: Span,
  hasDense: boolean,
): 'empty' | 'full' | 'partial' {
  let visible = 0;
  for (const spans of rows) {
    for (const [from, to] of spans) visible += Math.max(0, Math.min(to, c1) - Math.max(from, c0));
  }
  if (visible === 0) return 'empty';
  return visible === rows.length * (c1 - c0) && !hasDense ? 'full' : 'partial';
}

function at(values: readonly number[], b: number): number {
  return values[values.length === 1 ? 0 : b]!;
}

function asRank4(tensor: tf.Tensor): tf.Tensor4D {
  return tensor.rank === 4
    ? (tensor as tf.Tensor4D)
    : tf.reshape(tensor, [1, 1, ...tensor.shape] as [1, 1, number, number]);
}
