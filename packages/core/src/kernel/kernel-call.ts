// From what a caller gives to what a kernel gets: checked, defaults filled in, mask compiled.
import * as tf from '@tensorflow/tfjs-core';
import { checkInputs } from '../checks/check-inputs';
import { checkOptions } from '../checks/check-options';
import { UnsupportedError } from '../contract/errors';
import type { AttendOptions, AttentionInputs, KernelCall } from '../contract/kernel';
import { geometryOf, planOfCall } from './call-geometry';

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
  const order = { query: { start: geometry.queryStart }, key: geometry.keyOrder };
  return {
    ...scoreOptions,
    inputs,
    scale,
    plan: planOfCall(geometry, mask, inputs.stored),
    positions: positions ?? { query: order.query, key: inputs.stored?.positions ?? order.key },
    order,
    gradientDepth: gradientDepth(where),
  };
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
