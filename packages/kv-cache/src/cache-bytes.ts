// A cache as bytes, to go on with on another day or another backend.
import { ConfigError, type KeyValuePart, type RowMatrix, ShapeError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { RowCache } from './row-cache';
import {
  checkCache,
  checkDescription,
  type Description,
  type Format,
  headBytes,
  inside,
  kindOf,
  magic,
  optionsOf,
  readDescription,
  version,
} from './rows/cache-description';
import { packParts } from './rows/quantized-rows';
import { allColumns } from './rows/row-columns';
import { inTidy, packedLayout, packRows, runsIn } from './rows/row-storage';

/**
 * All that a cache holds: `cacheFromBytes` makes the same of an empty cache, where the numbers are to the bit those of this one.
 * The version is written down with them.
 *
 * @param cache of this package, or a subclass of `RowCache`
 * @throws ConfigError for others
 */
export async function cacheToBytes(cache: RowCache): Promise<Uint8Array> {
  checkCache('cacheToBytes', cache);
  const { tokens, options, valueColumn, held } = inside(cache);
  const { shape, sealed } = cache;
  cache.read(); // it must be alive
  const isQuantized = held.some(({ value }) => value.quantized);
  const parts = inTidy(() =>
    isQuantized ? held.flatMap((part) => packParts(shape, [part])) : packRows(shape, held),
  );
  try {
    const matrices = parts.map(({ key, value }) => (shape.valueSize > 0 ? [key, value] : [key]));
    const description: Description = {
      kind: kindOf(cache),
      shape,
      options: optionsOf(options),
      sealed,
      valueSize: parts[0]?.value.size ?? shape.valueSize,
      valueColumn,
      tokens,
      parts: parts.map(({ runs }, n) => ({
        counts: Array.from({ length: shape.batch }, (_, b) => runs(b)[1] ?? 0),
        formats: matrices[n]!.map(formatOf),
      })),
    };
    const text = new TextEncoder().encode(JSON.stringify(description));
    const arrays = await Promise.all(
      matrices
        .flat()
        .flatMap(tensorsOf)
        .map((tensor) => tensor.data()),
    );
    const size = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const bytes = new Uint8Array(headBytes + text.length + size);
    new Uint32Array(bytes.buffer, 0, 3).set([magic, version, text.length]);
    bytes.set(text, headBytes);
    let at = headBytes + text.length;
    for (const { buffer, byteOffset, byteLength } of arrays) {
      bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    return bytes;
  } finally {
    tf.dispose(parts.flatMap(({ key, value }) => [key, value].flatMap(tensorsOf)));
  }
}

/**
 * Fills an empty cache with what `cacheToBytes` has written, on whatever backend. Bytes are not trusted: what does not fit to
 * the last byte is refused before anything is allocated.
 *
 * @param cache empty, of the same kind, shape and options; a `StaticCache` or a pool may have more space
 * @returns the cache
 * @throws ConfigError, ShapeError for other bytes, and for a cache that is not empty; then nothing has changed
 */
export function cacheFromBytes<Cache extends RowCache>(bytes: Uint8Array, cache: Cache): Cache {
  const where = 'cacheFromBytes';
  checkCache(where, cache);
  if (cache.lengths.some((length) => length > 0))
    throw new ConfigError(where, 'the cache must be empty: reset it', { lengths: cache.lengths });
  const { description, from } = readDescription(where, bytes);
  checkDescription(where, description, cache);
  const { shape } = cache;
  const { parts, tokens, sealed, valueSize, valueColumn } = description;
  const layouts = parts.map(({ counts }) => packedLayout(shape, counts));
  const sizes = parts.flatMap(({ formats }, n) => formats.map((format) => bytesOf(format, layouts[n]!.rows)));
  const needed = sizes.reduce((sum, size) => sum + size, from);
  if (needed !== bytes.length)
    throw new ShapeError(where, 'bytes must be as many as their description says', {
      bytes: bytes.length,
      needed,
    });
  tf.tidy(() => {
    let at = from;
    const take = (rows: number, columns: number, dtype: 'float32' | 'int32') => {
      const own = bytes.slice(at, at + rows * columns * 4); // aligned
      at += own.length;
      const numbers = dtype === 'int32' ? new Int32Array(own.buffer) : new Float32Array(own.buffer);
      return tf.tensor2d(numbers, [rows, columns], dtype);
    };
    const restored = parts.map(({ counts, formats }, n): KeyValuePart => {
      const { rows, headStride } = layouts[n]!;
      const [key, value] = formats.map((format, m) =>
        matrixOf(format, m === 0 ? shape.keySize : shape.valueSize, (columns, per, dtype) =>
          take(rows / per, columns, dtype),
        ),
      ) as [RowMatrix, RowMatrix | undefined];
      const runs = runsIn(layouts[n]!, counts);
      return { key, value: value ?? { ...key, first: valueColumn, size: valueSize }, headStride, runs };
    });
    const own = inside(cache);
    const adopted = own.formatsOf ? own.settle!(restored) : restored[0] && own.append(restored[0]);
    if (adopted) own.hold(adopted);
    own.tokens = { ...tokens, lengths: Object.freeze(tokens.lengths) };
  });
  if (sealed) cache.seal();
  return cache;
}

function matrixOf(
  { bits, columns, scales, hasZero, rowsPerScale }: Format,
  size: number,
  take: (columns: number, rowsPer: number, dtype: 'float32' | 'int32') => tf.Tensor2D,
): RowMatrix {
  if (bits === 32) return allColumns(take(columns, 1, 'float32'));
  const data = take(columns, 1, 'int32');
  const scale = take(scales, rowsPerScale, 'float32');
  const zero = hasZero ? { zero: take(scales, rowsPerScale, 'float32') } : {};
  return { data, first: 0, size, quantized: { bits, scale, ...zero, rowsPerScale } };
}

function tensorsOf({ data, quantized }: RowMatrix): tf.Tensor2D[] {
  return [data, quantized?.scale, quantized?.zero].filter((tensor) => tensor !== undefined);
}

function formatOf({ data, quantized }: RowMatrix): Format {
  return {
    bits: quantized?.bits ?? 32,
    columns: data.shape[1],
    scales: quantized?.scale.shape[1] ?? 0,
    hasZero: quantized?.zero !== undefined,
    rowsPerScale: quantized?.rowsPerScale ?? 1,
  };
}

function bytesOf({ columns, scales, hasZero, rowsPerScale }: Format, rows: number): number {
  return 4 * (rows * columns + (rows / rowsPerScale) * scales * (hasZero ? 2 : 1));
}
