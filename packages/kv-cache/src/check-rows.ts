// What a cache is given is judged here.
import { type CacheShape, ConfigError, ShapeError, type TokenPositions } from '@polyhead/core';
import { checkSizes, checkTensor, normalizeOptions } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';

export interface GivenRows {
  readonly key: tf.Tensor4D;
  readonly value: tf.Tensor4D;
  readonly lengths?: readonly number[];
  readonly positions?: TokenPositions;
}

/** @throws ConfigError unless all sizes are there, and nothing else */
export function checkShape(where: string, shape: CacheShape): CacheShape {
  const asked = normalizeOptions(where, 'shape', shape, ['batch', 'heads', 'keySize', 'valueSize']);
  const { batch, heads, keySize, valueSize } = asked as CacheShape;
  checkSizes(where, { batch, heads, keySize, valueSize });
  return { batch, heads, keySize, valueSize };
}

/** What was really given. @throws ConfigError for what is no object, and for names that are not known */
export function givenRows(where: string, rows: GivenRows): GivenRows {
  const asked = normalizeOptions(where, 'rows', rows, ['key', 'value', 'lengths', 'positions']) as GivenRows;
  const { positions } = asked;
  if (!positions) return asked;
  const known = ['start', 'each'] as (keyof TokenPositions)[];
  return { ...asked, positions: normalizeOptions(where, 'positions', positions, known) as TokenPositions };
}

/**
 * @returns new tokens of each batch entry
 * @throws ShapeError or ConfigError, naming the argument
 */
export function checkRows(where: string, shape: CacheShape, rows: GivenRows): readonly number[] {
  const { key, value, lengths, positions } = rows;
  const { batch, heads, keySize, valueSize } = shape;
  checkSizesOf(where, 'key', key, [batch, heads, keySize]);
  checkSizesOf(where, 'value', value, [batch, heads, valueSize]);
  const S = key.shape[2];
  if (value.shape[2] !== S) throw new ShapeError(where, 'value must have the length of key', { key, value });
  if (positions) checkPositions(where, positions, { batch, S });
  if (!lengths) return Array<number>(batch).fill(S);
  checkLengths(where, lengths, Array<number>(batch).fill(S));
  return lengths;
}

/** @throws ShapeError or ConfigError unless there is one for each batch entry, from 0 to `most` */
export function checkLengths(where: string, lengths: readonly number[], most: readonly number[]): void {
  if (!Array.isArray(lengths)) {
    throw new ConfigError(where, 'lengths must be a list of numbers', { lengths });
  }
  if (lengths.length !== most.length) {
    throw new ShapeError(where, 'lengths must have one number for each batch entry', {
      lengths,
      batch: most.length,
    });
  }
  if (!lengths.every((length) => Number.isInteger(length) && length >= 0)) {
    throw new ConfigError(where, 'lengths must be whole numbers of at least 0', { lengths });
  }
  if (lengths.every((length, b) => length <= most[b]!)) return;
  throw new ShapeError(where, 'lengths must not go beyond the tokens there are', {
    lengths,
    tokens: most,
  });
}

function checkSizesOf(
  where: string,
  name: 'key' | 'value',
  tensor: tf.Tensor4D,
  [batch, heads, size]: readonly [number, number, number],
): void {
  checkTensor(where, name, tensor, ['[B, Hkv, S, D]']);
  const [B, H, , D] = tensor.shape;
  if (B === batch && H === heads && D === size) return;
  throw new ShapeError(where, `${name} must fit the cache: [${batch}, ${heads}, S, ${size}]`, {
    [name]: tensor,
  });
}

function checkPositions(
  where: string,
  positions: TokenPositions,
  { batch, S }: { readonly batch: number; readonly S: number },
): void {
  if ('start' in positions) {
    const { start } = positions;
    if (!Array.isArray(start) || !start.every(Number.isInteger)) {
      throw new ConfigError(where, 'positions.start must be a list of whole numbers', {
        'positions.start': start,
      });
    }
    if (start.length === 1 || start.length === batch) return;
    throw new ShapeError(where, 'positions.start must have one number, or one for each batch entry', {
      'positions.start': start,
      batch,
    });
  }
  const { each } = positions;
  if (!(each instanceof Int32Array)) {
    throw new ConfigError(where, 'positions must be { start: number[] } or { each: Int32Array }', {
      positions,
      'positions.each': each,
    });
  }
  const count = each.length;
  if (count === S || count === batch * S) return;
  throw new ShapeError(where, 'positions.each must be [S] or [B, S]', {
    'numbers given': count,
    '[B, S]': [batch, S],
  });
}
