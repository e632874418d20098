// From what a caller gives to what a kernel gets: checked, defaults filled in, mask compiled.
import * as tf from '@tensorflow/tfjs-core';
import { checkInputs } from '../checks/check-inputs';
import { checkOptions } from '../checks/check-options';
import { UnsupportedError } from '../contract/errors';
import type {
  AttendOptions,
  AttentionInputs,
  KernelCall,
  KernelInputs,
  ScoreOptions,
} from '../contract/kernel';
import { geometryOf, planOfCall } from './call-geometry';
import { materialized } from './materialized';

/**
 * The call a kernel is given. Call it inside a tidy: dense masks are reshaped.
 *
 * @throws ShapeError or ConfigError, naming the argument
 */
export function kernelCall(where: string, inputs: AttentionInputs, options: AttendOptions): KernelCall {
  const sizes = checkInputs(where, inputs);
  const known = checkOptions(where, options ?? {}, sizes);
  const { scale = 1 / Math.sqrt(sizes.D), mask, positions, queryStart, ...scoreOptions } = known;
  const taped = isTaped(where);
  const geometry = geometryOf(inputs, sizes, queryStart);
  const order = { query: { start: geometry.queryStart }, key: geometry.keyOrder };
  return {
    ...(scoreOptions as Pick<KernelCall, keyof ScoreOptions>), // whose ranks were checked
    inputs: readable(where, inputs, taped),
    sizes,
    scale: Math.fround(scale), // the same number in every kernel
    plan: planOfCall(geometry, mask, inputs.stored),
    positions: positions ?? { query: order.query, key: inputs.stored?.positions ?? order.key },
    order,
    isTaped: taped,
  };
}

/** The inputs, whose shapes were checked. The rows of a storage without parts, which no kernel could read, as tensors. */
function readable(where: string, inputs: AttentionInputs, taped: boolean): KernelInputs {
  const { query, stored } = inputs as KernelInputs;
  if (stored === undefined || stored.parts.length > 0 || taped) return inputs as KernelInputs;
  return { query, ...materialized(where, stored) };
}

/**
 * Whether this call stands in a gradient.
 *
 * @throws UnsupportedError inside a gradient when tfjs has none registered, which tfjs-core alone does not do
 */
function isTaped(where: string): boolean {
  if (tf.engine().state.gradientDepth === 0) return false;
  if (tf.getGradient('Reshape')) return true;
  throw new UnsupportedError(where, "gradients need tfjs's own; add: import '@tensorflow/tfjs'", [
    '@tensorflow/tfjs-core alone registers no gradients',
  ]);
}
