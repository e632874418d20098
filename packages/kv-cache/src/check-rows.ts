// What a cache is given is judged here.
import { type CacheShape, ConfigError, checkTensor, ShapeError, type TokenPositions } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';

export interface GivenRows {
  readonly key: tf.Tensor4D;
  readonly value: tf.Tensor4D;
  readonly lengths?: readonly number[];
  readonly positions?: TokenPositions;
}

/**
 * @returns new tokens of each batch entry
 * @throws ShapeError, naming the argument
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
    if (!start.every(Number.isInteger)) {
      throw new ConfigError(where, 'positions must be whole numbers', { 'positions.start': start });
    }
    if (start.length === 1 || start.length === batch) return;
    throw new ShapeError(where, 'positions.start must have one number, or one for each batch entry', {
      'positions.start': start,
      batch,
    });
  }
  const count = positions.each.length;
  if (count === S || count === batch * S) return;
  throw new ShapeError(where, 'positions.each must be [S] or [B, S]', {
    'numbers given': count,
    '[B, S]': [batch, S],
  });
}
