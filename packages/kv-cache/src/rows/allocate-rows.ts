// Space for rows that is allocated once, and named in bytes where memory has none.
import { type CacheShape, isAttentionError, type KeyValuePart, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { allColumns, emptyRows } from './row-columns';
import { equalLayout, type TokenRows } from './row-storage';

/**
 * Space for so many tokens in each batch entry, as `equalLayout` has them: no token yet.
 *
 * @param where of errors
 * @param facts shown beside the bytes that were needed
 * @throws UnsupportedError where JavaScript or the backend cannot have them
 */
export function allocateRows(
  where: string,
  shape: CacheShape,
  { tokens, ...facts }: { readonly tokens: number } & Readonly<Record<string, number>>,
): KeyValuePart {
  const { batch, heads, keySize, valueSize } = shape;
  const { rows, headStride } = equalLayout(shape, tokens);
  try {
    if (rows >= 2 ** 31) throw new RangeError('rows beyond 32 bits');
    const [key, value] = tf.tidy(() =>
      [keySize, ...(valueSize > 0 ? [valueSize] : [])].map((size) => emptyRows(rows, size)),
    );
    const runs = () => new Int32Array();
    const columns = allColumns(key!);
    return { key: columns, value: value ? allColumns(value) : { ...columns, size: 0 }, headStride, runs };
  } catch (error) {
    if (isAttentionError(error)) throw error;
    throw new UnsupportedError(where, 'the cache must fit into memory', [String(error)], {
      'bytes needed': batch * heads * tokens * (keySize + valueSize) * 4,
      ...facts,
    });
  }
}

/** A part of allocated rows as new rows see it: with a value size of 0 values are columns of the keys, as in those. */
export function alikeRows({ valueSize }: CacheShape, part: KeyValuePart, rows: TokenRows): KeyValuePart {
  if (valueSize > 0) return part;
  const { first, size } = rows.value;
  return { ...part, value: { data: part.key.data, first, size } };
}
