// The only place where the options of a call are judged.
import type * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { AttendOptions, AttentionKernel, CallSizes } from '../contract/kernel';
import { checkNumber, checkRate, checkSoftcap } from './check-config';
import { checkPositions } from './check-positions';
import { checkRelative } from './check-relative';
import { checkTensor, checkTensors } from './check-tensor';
import { normalizeOptions, optionsOfCall } from './normalize-options';

const optionNames: readonly (keyof AttendOptions)[] = [
  'scale',
  'mask',
  'positions',
  'queryStart',
  'bias',
  'relative',
  'softcap',
  'sinkLogits',
  'dropout',
  'tensors',
  'returns',
];

/**
 * The options that were given.
 *
 * @throws ShapeError or ConfigError, naming the option
 */
export function checkOptions(where: string, options: AttendOptions, sizes: CallSizes): AttendOptions {
  const known = optionsOfCall(where, 'options', options, optionNames) as AttendOptions;
  const { scale, softcap, bias, sinkLogits, relative, positions, queryStart, tensors } = known;
  const { B, Hq, Sq, Skv } = sizes;
  if (scale !== undefined) checkScale(where, scale);
  if (softcap !== undefined) checkSoftcap(where, softcap);
  if (bias !== undefined) checkBias(where, bias, [B, Hq, Sq, Skv]);
  if (sinkLogits !== undefined) {
    checkTensor(where, 'sinkLogits', sinkLogits, ['[Hq]']);
    if (sinkLogits.shape[0] !== Hq) {
      throw new ShapeError(where, 'sinkLogits must have one number for each query head', { sinkLogits, Hq });
    }
  }
  if (relative !== undefined) checkRelative(where, relative, sizes);
  if (positions !== undefined) checkPositions(where, positions, sizes);
  if (queryStart !== undefined) checkQueryStart(where, queryStart, B);
  if (tensors !== undefined) checkTensors(where, 'tensors', tensors);
  checkDropoutAndReturns(where, known);
  return known;
}

/** @throws ConfigError unless it is a number that float32 can hold */
export function checkScale(where: string, scale: number): void {
  checkNumber(where, 'scale', scale, ofFloat32);
}

const ofFloat32 = [(x: number) => Number.isFinite(Math.fround(x)), 'a finite number'] as const;

/** @throws ConfigError for what is no kernel */
export function checkKernel(where: string, kernel: AttentionKernel): void {
  const isKernel = typeof kernel === 'object' && kernel !== null && typeof kernel.run === 'function';
  if (isKernel && typeof kernel.unsupported === 'function') return;
  throw new ConfigError(where, 'kernel must be an AttentionKernel, such as composed()', { kernel });
}

function checkDropoutAndReturns(where: string, { dropout, returns }: AttendOptions): void {
  if (dropout !== undefined) {
    const { rate, seed } = normalizeOptions(where, 'dropout', dropout, ['rate', 'seed']);
    checkRate(where, 'dropout.rate', rate!);
    checkNumber(where, 'dropout.seed', seed!, [Number.isInteger, 'a whole number']);
  }
  if (returns !== undefined) checkReturns(where, returns, ['weights', 'logSumExp', 'state']);
}

/** @throws ConfigError unless it is a list of some of these names */
export function checkReturns(where: string, returns: readonly string[], names: readonly string[]): void {
  if (Array.isArray(returns) && returns.every((name) => names.includes(name))) return;
  throw new ConfigError(where, `returns may be a list of ${names.join(', ')}`, { returns });
}

function checkBias(where: string, bias: tf.Tensor, wanted: readonly number[]): void {
  const facts = { '[B, Hq, Sq, Skv]': wanted };
  checkTensor(where, 'bias', bias, ['[B, Hq, Sq, Skv]', facts]);
  if (bias.shape.every((size, i) => size === 1 || size === wanted[i])) return;
  throw new ShapeError(where, 'bias must broadcast to [B, Hq, Sq, Skv]', { bias, ...facts });
}

function checkQueryStart(where: string, queryStart: number | readonly number[], B: number): void {
  const starts: unknown = typeof queryStart === 'number' ? [queryStart] : queryStart;
  if (!Array.isArray(starts) || !starts.every(Number.isInteger)) {
    throw new ConfigError(where, 'queryStart must be a whole number, or one for each batch entry', {
      queryStart,
    });
  }
  if (starts.length === B || starts.length === 1) return;
  throw new ShapeError(where, 'queryStart must have one number for each batch entry', { queryStart, B });
}
