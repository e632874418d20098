// What is checked of a mask: the object where it comes in, its spans and tensors where it is compiled.
import * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { Mask, MaskCall, MaskRow, Span } from '../contract/mask';
import { clipSpans, normalizeSpans } from '../masks/spans';

const isFunction = (x: unknown) => x === undefined || x === null || typeof x === 'function';
const isList = (x: unknown) => x === undefined || x === null || Array.isArray(x);

function isMask({ name, perBatch, perHead, check, start, dense }: Mask): boolean {
  const isNamed = typeof name === 'string' && typeof perBatch === 'boolean' && typeof perHead === 'boolean';
  return isNamed && isFunction(check) && isFunction(start) && isList(dense);
}

/**
 * @param name of the argument
 * @throws ShapeError for a tensor, ConfigError for anything else that is no mask
 */
export function checkMask(where: string, mask: Mask, name = 'mask'): void {
  if (mask instanceof tf.Tensor) {
    const rule =
      'a tensor is no mask: give dense(mask), or a `bias` where its numbers are to be added to scores';
    throw new ShapeError(where, rule, { [name]: mask });
  }
  if (typeof mask !== 'object' || mask === null || typeof mask.spans !== 'function') {
    throw new ConfigError(where, `${name} must be a Mask, such as causal()`, { [name]: mask });
  }
  if (isMask(mask)) return;
  const rules: readonly (readonly [holds: boolean, member: keyof Mask, rule: string])[] = [
    [typeof mask.name === 'string', 'name', 'a string'],
    [typeof mask.perBatch === 'boolean', 'perBatch', 'true or false'],
    [typeof mask.perHead === 'boolean', 'perHead', 'true or false'],
    [isFunction(mask.check), 'check', 'a function'],
    [isFunction(mask.start), 'start', 'a function'],
    [isList(mask.dense), 'dense', 'a list of tensors'],
  ];
  for (const [holds, member, rule] of rules) {
    if (holds) continue;
    const facts = { 'name of the mask': mask.name, [member]: mask[member] };
    throw new ConfigError(where, `${name}.${member} must be ${rule}`, facts);
  }
}

const normal = new WeakSet<Mask>();

/** The mask, whose spans are always sorted and never touch: a row may have thousands, which nobody checks again. */
export function withNormalSpans(mask: Mask): Mask {
  normal.add(mask);
  return mask;
}

/**
 * The keys that a row sees within [from, to).
 *
 * @throws ConfigError, naming the mask, for spans that are none
 */
export function visibleSpans(mask: Mask, row: MaskRow, within: Span): readonly Span[] {
  const spans = mask.spans(row);
  return normal.has(mask) ? clipSpans(spans, within) : normalizeSpans(spans, within, mask.name);
}

/**
 * Token order of an entry's first token.
 *
 * @throws ConfigError, naming the mask, unless it is a whole number
 */
export function tokenStart(mask: Mask, b: number): number {
  const start = mask.start?.(b) ?? 0;
  if (Number.isInteger(start)) return start;
  throw new ConfigError(mask.name, 'start must be a whole number', { b, start });
}

/**
 * A tensor of a mask, fit for the call. Kernels read it unchecked.
 *
 * @throws ShapeError, naming the mask
 */
export function checkDense(
  name: string,
  mask: tf.Tensor,
  { batch, heads, queries, keys }: MaskCall,
): tf.Tensor {
  checkDenseTensor(name, mask);
  const wanted = [batch, heads, queries, keys];
  const fits =
    mask.rank === 2
      ? mask.shape[0] === queries && mask.shape[1] === keys
      : mask.shape.every((size, i) => size === 1 || size === wanted[i]);
  if (fits) return mask;
  throw new ShapeError(name, 'mask must broadcast to [B, Hq, Sq, Skv]', {
    mask,
    '[B, Hq, Sq, Skv]': wanted,
  });
}

/** @throws ShapeError, naming the mask, for what no call could take */
export function checkDenseTensor(name: string, mask: tf.Tensor): void {
  const rank3 =
    'rank 3 could mean two things: tf.expandDims(mask, 1) for [B, Sq, Skv], tf.expandDims(mask, 0) for [Hq, Sq, Skv]';
  const rules: readonly (readonly [holds: () => boolean, rule: string])[] = [
    [() => mask instanceof tf.Tensor, 'mask must be a tensor'],
    [() => !mask.isDisposed, 'mask must not be disposed'],
    [
      () => mask.dtype === 'bool' || mask.dtype === 'int32',
      'mask must be bool or int32; numbers to be added to scores are a `bias`',
    ],
    [() => mask.rank !== 3, `mask must be [Sq, Skv], or rank 4; ${rank3}`],
    [
      () => mask.rank === 2 || mask.rank === 4,
      'mask must be [Sq, Skv], or rank 4 and broadcast to [B, Hq, Sq, Skv]',
    ],
  ];
  for (const [holds, rule] of rules) if (!holds()) throw new ShapeError(name, rule, { mask });
}
