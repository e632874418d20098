// From what a caller gives to what a kernel gets: checked, defaults filled in, mask compiled.
import { checkInputs } from '../checks/check-inputs';
import { checkMask } from '../checks/check-mask';
import { checkOptions } from '../checks/check-options';
import { checkTokenPositions } from '../checks/check-positions';
import { ShapeError } from '../contract/errors';
import type {
  AttendOptions,
  AttentionInputs,
  CallSizes,
  KernelCall,
  KernelInputs,
  ScoreOptions,
} from '../contract/kernel';
import type { Mask, MaskPlan } from '../contract/mask';
import type { TokenPositions } from '../contract/position';
import { allOf } from '../masks/all-of';
import { compileMask, type MaskGeometry } from '../masks/compile-mask';
import { isTaped } from './gradient';
import { materialized } from './materialized';
import { positionsOf } from './token-positions';

/**
 * The call a kernel is given. Call it inside a tidy: dense masks are reshaped.
 *
 * @throws ShapeError or ConfigError, naming the argument
 */
export function kernelCall(where: string, inputs: AttentionInputs, options: AttendOptions): KernelCall {
  const sizes = checkInputs(where, inputs);
  const known = checkOptions(where, options ?? {}, sizes);
  const { scale = 1 / Math.sqrt(sizes.D), softcap, positions, queryStart } = known;
  const { bias, relative, sinkLogits, dropout, tensors, returns } = known as ScoreTensors;
  const taped = isTaped(where);
  const geometry = geometryOf(inputs, sizes, queryStart);
  const order = { query: { start: geometry.queryStart }, key: geometry.keyOrder };
  return {
    bias,
    relative,
    sinkLogits,
    dropout,
    tensors,
    returns,
    inputs: readable(where, inputs, taped),
    sizes,
    scale: Math.fround(scale), // the same number in every kernel
    softcap: softcap ? Math.max(softcap, smallestNormal) : undefined,
    plan: planOfCall(where, known, inputs, geometry),
    positions: positions ?? { query: order.query, key: inputs.stored?.positions ?? order.key },
    order,
    isTaped: taped,
  };
}

/** Options as kernels have them: ranks were checked. */
type ScoreTensors = Pick<KernelCall, keyof ScoreOptions>;

/** Some backends take smaller numbers for 0. */
const smallestNormal = 2 ** -126;

/** The inputs, whose shapes were checked. The rows of a storage without parts, which no kernel could read, as tensors. */
function readable(where: string, inputs: AttentionInputs, taped: boolean): KernelInputs {
  const { query, stored } = inputs as KernelInputs;
  if (stored === undefined || stored.parts.length > 0 || taped) return inputs as KernelInputs;
  return { query, ...materialized(where, stored) };
}

/** The mask of the call and that of its storage, compiled. */
function planOfCall(
  where: string,
  { mask }: AttendOptions,
  { stored }: AttentionInputs,
  geometry: MaskGeometry,
): MaskPlan {
  const own = stored?.mask ?? undefined;
  if (mask !== undefined) checkMask(where, mask); // 0 and '' are none, either
  if (own) checkMask(where, own, 'stored.mask');
  return compileMask(mask && own ? both(mask, own) : (mask ?? own), geometry);
}

const pairsOfMasks = new WeakMap<Mask, WeakMap<Mask, Mask>>();

/** One object for the same two, so that its plan is remembered. */
function both(one: Mask, other: Mask): Mask {
  const partners = pairsOfMasks.get(one) ?? new WeakMap<Mask, Mask>();
  pairsOfMasks.set(one, partners);
  const mask = partners.get(other) ?? allOf(one, other);
  partners.set(other, mask);
  return mask;
}

/** Where rows and columns are in token order: by default the last query is at the last key. */
function geometryOf(
  { stored }: AttentionInputs,
  { B, Hq, Sq, Skv }: CallSizes,
  queryStart: AttendOptions['queryStart'],
): MaskGeometry {
  const keyOrder: TokenPositions = stored?.order ?? { start: [0] };
  const lengths = stored ? stored.lengths : [Skv];
  if (stored) {
    checkTokenPositions('attend', 'stored.order', keyOrder, [B, Skv]);
    checkTokenPositions('attend', 'stored.positions', stored.positions, [B, Skv]);
    checkRising(keyOrder, lengths, Skv);
  }
  const start = queryStart ?? lastKeys(keyOrder, lengths, Skv).map((last) => last + 1 - Sq);
  const starts = typeof start === 'number' ? [start] : start.slice();
  return { batch: B, heads: Hq, queries: Sq, keys: Skv, queryStart: starts, keyOrder, lengths };
}

/** Token order of the last key of each batch entry; one below the first where there is none. */
function lastKeys(order: TokenPositions, lengths: readonly number[], Skv: number): number[] {
  const length = (b: number) => lengths[lengths.length === 1 ? 0 : b]!;
  if (order.each) {
    return lengths.map((_, b) =>
      length(b) > 0 ? positionsOf(order, b, [length(b) - 1, length(b)], Skv)[0]! : -1,
    );
  }
  const { start } = order;
  const longer = start.length > lengths.length ? start : lengths;
  return longer.map((_, b) => start[start.length === 1 ? 0 : b]! + length(b) - 1);
}

function checkRising(order: TokenPositions, lengths: readonly number[], Skv: number): void {
  if (order.start) return;
  lengths.forEach((length, b) => {
    const tokens = positionsOf(order, b, [0, length], Skv);
    for (let j = 1; j < length; j++) {
      if (tokens[j - 1]! < tokens[j]!) continue;
      const rule = 'the token order of stored rows must rise from row to row of a batch entry';
      throw new ShapeError('attend', rule, { 'batch entry': b, row: j, 'stored.order': order.each });
    }
  });
}
