// From a mask to the plan of one call.
import * as tf from '@tensorflow/tfjs-core';
import { checkDense, tokenStart, visibleSpans } from '../checks/check-mask';
import type { Mask, MaskPlan, Span } from '../contract/mask';
import type { TokenPositions } from '../contract/position';
import { positionsOf } from '../kernel/token-positions';
import { PlanRows } from './plan-rows';
import { countBelow, normalizeSpans } from './spans';

/** The sizes of a call, and where its rows and columns are in token order. */
export interface MaskGeometry {
  /** B */
  readonly batch: number;
  /** Hq */
  readonly heads: number;
  /** Sq */
  readonly queries: number;
  /** Skv */
  readonly keys: number;
  /** Token order of query row 0: [1 | B]. */
  readonly queryStart: readonly number[];
  /** Token order of key columns; where each is given, it must rise from column to column. */
  readonly keyOrder: TokenPositions;
  /** Keys that count: [1 | B]; columns from there on are hidden. */
  readonly lengths: readonly number[];
}

/** What is remembered: all of a plan but its tensors. */
interface HostPlan {
  readonly plan: MaskPlan;
  readonly pairs?:
    | { readonly shape: readonly [number, number, number, number]; readonly shown: Uint8Array }
    | undefined;
}

interface RememberedPlan extends HostPlan {
  readonly geometry: MaskGeometry;
  readonly mask: Mask | undefined;
}

let last: RememberedPlan | undefined;

const noMask = {};
const remembered = new WeakMap<object, RememberedPlan[]>(); // the newest last
// A model's layers share a geometry; decoding has a new one at each step.
const plansPerMask = 8;
const bytesPerMask = 2 ** 26;

/**
 * The plan of a mask, or of none, in a call of this geometry. What it holds on the host is remembered for each mask
 * object. Dense tensors are made, or reshaped, at each call: call it inside a tidy.
 *
 * @throws ShapeError where the mask was made for other sizes, or its tensors do not fit
 * @throws ConfigError for spans that are none
 */
export function compileMask(mask: Mask | undefined, geometry: MaskGeometry): MaskPlan {
  mask?.check?.(geometry);
  const dense = (mask?.dense ?? []).map((tensor) => asRank4(checkDense(mask!.name, tensor, geometry)));
  const { plan, pairs } = recall(mask, geometry);
  if (pairs) dense.push(tf.tensor4d(pairs.shown, [...pairs.shape], 'bool'));
  return dense.length > 0 ? { ...plan, full: false, causal: false, dense } : plan;
}

/**
 * Visible pairs over the whole call, as far as spans tell: `MaskPlan.pairs`, without a plan and without tensors.
 *
 * @throws as `compileMask` does
 */
export function countPairs(mask: Mask | undefined, geometry: MaskGeometry): number {
  mask?.check?.(geometry);
  let visible = 0;
  const [B, H] = eachRowOfMask(mask, geometry, ({ spans }) => {
    for (const [from, to] of spans) visible += to - from;
  });
  return visible * copiesOf(geometry, B, H);
}

function recall(mask: Mask | undefined, geometry: MaskGeometry): HostPlan {
  if (!geometry.keyOrder.start) return compile(mask, geometry); // a cache gives another order at each step
  if (last && last.mask === mask && areEqual(last.geometry, geometry)) return last;
  const owner = mask ?? noMask;
  const plans = remembered.get(owner) ?? [];
  const known = plans.find((plan) => areEqual(plan.geometry, geometry));
  if (known) return known;
  const { plan, pairs } = compile(mask, geometry);
  const made: RememberedPlan = { plan, pairs, geometry, mask };
  if (plan.spans.length <= 2) {
    last = made; // one row, of a token: its layers ask in turn, and no later token does
    return made;
  }
  if (plans.length === 0) remembered.set(owner, plans);
  plans.push(made);
  forgetOldest(plans);
  return made;
}

function areEqual(one: MaskGeometry, other: MaskGeometry): boolean {
  return (
    one.batch === other.batch &&
    one.heads === other.heads &&
    one.queries === other.queries &&
    one.keys === other.keys &&
    areSame(one.queryStart, other.queryStart) &&
    areSame(one.keyOrder.start!, other.keyOrder.start!) &&
    areSame(one.lengths, other.lengths)
  );
}

function areSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((x, n) => x === others[n]);
}

/** The newest stays, whatever its size: the call itself needs as much. */
function forgetOldest(plans: RememberedPlan[]): void {
  for (;;) {
    if (plans.length < 2) return;
    const bytes = plans.reduce((sum, { plan, pairs }) => {
      return sum + plan.spans.byteLength + (pairs?.shown.byteLength ?? 0);
    }, 0);
    if (plans.length <= plansPerMask && bytes <= bytesPerMask) return;
    plans.shift();
  }
}

function compile(mask: Mask | undefined, geometry: MaskGeometry): HostPlan {
  const { queries, keys } = geometry;
  const [B, H] = sizesOfPlan(mask, geometry);
  const rows = new PlanRows(B * H * queries, keys);
  let causal = true;
  eachRowOfMask(mask, geometry, ({ spans, first, upToItself }) => {
    rows.add(spans, first);
    const end = spans.length === 0 ? first : spans[0]![1];
    causal &&= spans.length <= 1 && end === Math.max(first, upToItself) && (spans[0]?.[0] ?? first) === first;
  });
  const { width, spans, pairs: shown, visible } = rows.finish();
  const full = visible === B * H * queries * keys;
  const pairs = visible * copiesOf(geometry, B, H);
  const plan = planOfSpans({ shape: [B, H, queries, width], spans, full, causal, dense: [], pairs });
  return { plan, pairs: shown && { shape: [B, H, queries, keys], shown } };
}

interface VisibleRow {
  readonly spans: readonly Span[];
  /** What is column 0 in their numbers. */
  readonly first: number;
  /** One past the last key that is no later than the row, in the same numbers. */
  readonly upToItself: number;
}

/** Calls `visit` for each row of a plan, in its order. */
function eachRowOfMask(
  mask: Mask | undefined,
  geometry: MaskGeometry,
  visit: (row: VisibleRow) => void,
): readonly [B: number, H: number] {
  const { queries, queryStart } = geometry;
  const [B, H] = sizesOfPlan(mask, geometry);
  for (let b = 0; b < B; b++) {
    const { first, end, columns } = keysOfEntry(geometry, b);
    const every: readonly Span[] = first < end ? [[first, end]] : [];
    const start = mask ? tokenStart(mask, b) : 0;
    for (let h = 0; h < H; h++) {
      for (let index = 0; index < queries; index++) {
        const query = at(queryStart, b) + index;
        const row = { b, h, index, query, start, end };
        const spans = mask ? visibleSpans(mask, row, [first, end]) : every;
        const upToItself = Math.min(query + 1, end);
        visit(columns ? columns({ spans, first, upToItself }) : { spans, first, upToItself });
      }
    }
  }
  return [B, H];
}

/** Where the keys of a batch entry are in token order, and how spans become columns where some orders are missing. */
function keysOfEntry({ keyOrder, keys, lengths }: MaskGeometry, b: number) {
  const length = at(lengths, b);
  if (keyOrder.start) {
    const first = at(keyOrder.start, b);
    return { first, end: first + length };
  }
  const order = positionsOf(keyOrder, b, [0, length], keys);
  const columns = ({ spans, upToItself }: VisibleRow): VisibleRow => {
    const ofColumns = spans.map(([from, to]): Span => [columnOf(order, from), columnOf(order, to)]);
    const upTo = columnOf(order, upToItself);
    return { spans: normalizeSpans(ofColumns, [0, length]), first: 0, upToItself: upTo };
  };
  return { first: order[0] ?? 0, end: (order[length - 1] ?? -1) + 1, columns };
}

/** The first column whose token order is not below this one. */
function columnOf(order: ArrayLike<number>, token: number): number {
  return countBelow(order.length, (column) => order[column]!, token);
}

/** B and Hq, or 1 where all batch entries, or heads, share their rows; 0 where there are none. */
function sizesOfPlan(
  mask: Mask | undefined,
  { batch, heads, keys, queryStart, keyOrder, lengths }: MaskGeometry,
): readonly [B: number, H: number] {
  const differ = (values: readonly number[]) => values.some((n) => n !== values[0]);
  const ordersDiffer = keyOrder.start ? differ(keyOrder.start) : keyOrder.each.length !== keys;
  const perBatch = mask?.perBatch || mask?.start || ordersDiffer || differ(queryStart) || differ(lengths);
  return [perBatch ? batch : Math.min(1, batch), mask?.perHead ? heads : Math.min(1, heads)];
}

/** How many batch entries and heads of the call share one row. */
function copiesOf({ batch, heads }: MaskGeometry, B: number, H: number): number {
  return (batch / Math.max(1, B)) * (heads / Math.max(1, H));
}

function at(values: readonly number[], b: number): number {
  return values[values.length === 1 ? 0 : b]!;
}

function asRank4(tensor: tf.Tensor): tf.Tensor4D {
  return tensor.rank === 4
    ? (tensor as tf.Tensor4D)
    : tf.reshape(tensor, [1, 1, ...tensor.shape] as [1, 1, number, number]);
}

/** A plan of these spans: adds `visibleKeys`, which reads them. */
export function planOfSpans(parts: Omit<MaskPlan, 'visibleKeys'>): MaskPlan {
  const { shape, spans, full, causal, dense, pairs } = parts;
  return { shape, spans, full, causal, dense, pairs, visibleKeys: (part) => visibleKeys(parts, part) };
}

/**
 * Visits the rows of a plan that a part of a call has, in order.
 *
 * @param visit gets the index of the row's first span, and how many rows came before
 */
export function eachRowOfPlan(
  { shape: [B, H, R, width] }: Pick<MaskPlan, 'shape'>,
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

function visibleKeys(
  { shape, spans }: Pick<MaskPlan, 'shape' | 'spans'>,
  part: { readonly batch: Span; readonly rows: Span },
): Span {
  let first = Infinity;
  let last = 0;
  eachRowOfPlan({ shape }, part, (span) => {
    for (let i = span * 2; i < (span + shape[3]) * 2 && spans[i]! < spans[i + 1]!; i += 2) {
      first = Math.min(first, spans[i]!);
      last = Math.max(last, spans[i + 1]!);
    }
  });
  return first < last ? [first, last] : [0, 0];
}
