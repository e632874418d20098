// From what a caller gives to what a kernel gets: checked, defaults filled in, mask compiled.
import * as tf from '@tensorflow/tfjs-core';
import { type CallSizes, checkInputs } from '../checks/check-inputs';
import { checkOptions } from '../checks/check-options';
import { checkTokenPositions } from '../checks/check-positions';
import { UnsupportedError } from '../contract/errors';
import type { AttendOptions, AttentionInputs, KernelCall } from '../contract/kernel';
import type { Mask } from '../contract/mask';
import type { TokenPositions } from '../contract/position';
import { allOf } from '../masks/all-of';
import { compileMask, everyPair, type MaskGeometry } from '../masks/mask-plan';

/**
 * The call a kernel is given. Call it inside a tidy: dense masks are reshaped.
 *
 * @throws ShapeError or ConfigError, naming the argument
 */
export function kernelCall(where: string, inputs: AttentionInputs, options: AttendOptions): KernelCall {
  const sizes = checkInputs(where, inputs);
  const asked = checkOptions(where, options, sizes);
  const { scale = 1 / Math.sqrt(sizes.D), mask, positions, queryStart, ...scoreOptions } = asked;
  const geometry = geometryOf(inputs, sizes, queryStart);
  const masks = [mask, inputs.stored?.mask].filter((m): m is Mask => m !== undefined);
  const order = { query: { start: geometry.queryStart }, key: { start: geometry.keyStart } };
  return {
    ...scoreOptions,
    inputs,
    scale,
    plan: planOf(masks, geometry),
    positions: positions ?? { query: order.query, key: inputs.stored?.positions ?? order.key },
    order,
    gradientDepth: gradientDepth(where),
  };
}

function planOf(masks: readonly Mask[], geometry: MaskGeometry) {
  const everyKeyExists = geometry.lengths.every((length) => length === geometry.keys);
  if (masks.length === 0 && everyKeyExists) return everyPair(geometry);
  return compileMask(masks.length === 1 ? masks[0]! : allOf(...masks), geometry);
}

function geometryOf(
  inputs: AttentionInputs,
  { B, Hq, Sq, Skv }: CallSizes,
  queryStart: number | readonly number[] | undefined,
): MaskGeometry {
  if (inputs.stored) {
    checkTokenPositions('attend', 'stored.order', inputs.stored.order, [B, Skv]);
    checkTokenPositions('attend', 'stored.positions', inputs.stored.positions, [B, Skv]);
  }
  const keyStart = inputs.stored ? consecutiveStart(inputs.stored.order) : [0];
  const lengths = inputs.stored ? inputs.stored.lengths : [Skv];
  return {
    batch: B,
    heads: Hq,
    queries: Sq,
    keys: Skv,
    queryStart: queryStart === undefined ? lastKeys(keyStart, lengths, Sq) : [queryStart].flat(),
    keyStart,
    lengths,
  };
}

/** The last query stands at the last key. */
function lastKeys(keyStart: readonly number[], lengths: readonly number[], Sq: number): number[] {
  const entries = Math.max(keyStart.length, lengths.length);
  return Array.from({ length: entries }, (_, b) => {
    const start = keyStart[keyStart.length === 1 ? 0 : b]!;
    return start + lengths[lengths.length === 1 ? 0 : b]! - Sq;
  });
}

function consecutiveStart(order: TokenPositions): readonly number[] {
  if ('start' in order) return order.start;
  throw new UnsupportedError('attend', 'the token order of stored rows must be consecutive', [
    'rows whose order is given one by one cannot be masked by spans',
  ]);
}

/**
 * How many gradients this call stands in.
 *
 * @throws UnsupportedError inside a gradient when no gradients are registered
 */
function gradientDepth(where: string): number {
  const { gradientDepth: depth } = tf.engine().state;
  if (depth > 0) requireGradients(where);
  return depth;
}

/** @throws UnsupportedError when tfjs has no gradients registered, which tfjs-core alone does not do */
export function requireGradients(where: string): void {
  if (tf.getGradient('Reshape')) return;
  throw new UnsupportedError(where, "gradients need tfjs's own; add: import '@tensorflow/tfjs'", [
    '@tensorflow/tfjs-core alone registers no gradients',
  ]);
}
