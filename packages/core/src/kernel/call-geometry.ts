// Where the rows and columns of a call are in token order, and the plan of its mask there.

import { checkMask } from '../checks/check-mask';
import { checkTokenPositions } from '../checks/check-positions';
import { ShapeError } from '../contract/errors';
import type { AttendOptions, AttentionInputs, CallSizes } from '../contract/kernel';
import type { StoredKeyValue } from '../contract/key-value-cache';
import type { Mask, MaskPlan } from '../contract/mask';
import type { TokenPositions } from '../contract/position';
import { allOf } from '../masks/all-of';
import { compileMask, type MaskGeometry } from '../masks/compile-mask';
import { positionsOf } from './token-positions';

/**
 * Call it inside a tidy: dense masks are reshaped.
 *
 * @throws ShapeError, ConfigError for a mask or stored rows that do not fit the call
 */
export function planOfCall(
  geometry: MaskGeometry,
  mask: Mask | undefined,
  stored?: StoredKeyValue,
): MaskPlan {
  const own = stored?.mask ?? undefined;
  if (own) checkMask('attend', own, 'stored.mask');
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

/**
 * @param queryStart default: the last query is at the last key
 * @throws ShapeError, ConfigError for an order of stored rows that is none, or does not rise
 */
export function geometryOf(
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
  return { batch: B, heads: Hq, queries: Sq, keys: Skv, queryStart: [start].flat(), keyOrder, lengths };
}

/** Token order of the last key of each batch entry; one below the first where there is none. */
function lastKeys(order: TokenPositions, lengths: readonly number[], Skv: number): number[] {
  const length = (b: number) => lengths[lengths.length === 1 ? 0 : b]!;
  if (order.each) {
    return lengths.map((_, b) =>
      length(b) > 0 ? positionsOf(order, b, [length(b) - 1, length(b)], Skv)[0]! : -1,
    );
  }
  const entries = Math.max(order.start.length, lengths.length);
  return Array.from(
    { length: entries },
    (_, b) => order.start[order.start.length === 1 ? 0 : b]! + length(b) - 1,
  );
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
