// Rows of one tensor copied into another, by what the backend allows: numbers written where they lie, a scatter
// operation, or slices that are joined. The only place that changes the numbers of a tensor.
import type { CacheShape, KeyValuePart, RowMatrix } from '@polyhead/core';
import { backendTraits, emptyOnHeap, hasWasmHeap, viewsOnHeap } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';

/** Some columns of a tensor whose last axis is a row. */
export interface RowColumns extends Omit<RowMatrix, 'data'> {
  readonly data: tf.Tensor;
}

/** The rows of tokens in one tensor. */
export interface TokenColumns extends RowColumns, Pick<KeyValuePart, 'headStride' | 'runs'> {}

type Extent = Pick<CacheShape, 'batch' | 'heads'>;

interface CpuBackend {
  readonly data: { get(id: object): { readonly values: Float32Array } };
}

/** True where the numbers of tensors can be written where they lie, as on cpu and wasm. */
export function writesInPlace(): boolean {
  return backendTraits().hostArrays || hasWasmHeap();
}

/** True where scattering rows is the fastest way to write them. */
export function scattersFast(): boolean {
  return backendTraits().fastScatter;
}

/** Rows whose numbers are still to be written: floats may be anything, NaN too. */
export function emptyRows(rows: number, size: number, dtype: tf.DataType = 'float32'): tf.Tensor2D {
  const isFloat = dtype === 'float32';
  return isFloat && hasWasmHeap() ? emptyOnHeap<tf.Rank.R2>([rows, size]) : tf.zeros([rows, size], dtype);
}

/** All columns of a tensor. */
export function allColumns(data: tf.Tensor2D): RowMatrix {
  return { data, first: 0, size: data.shape[1] };
}

/** Writes zeros into a tensor. Call it only where `writesInPlace`. */
export function clear(data: tf.Tensor): void {
  numbersOf(data, data)[0].fill(0);
}

/** The same numbers, which writing in place does not reach. */
export function copyOf(data: tf.Tensor2D): tf.Tensor2D {
  if (!writesInPlace()) return tf.clone(data);
  const copy = emptyRows(...data.shape, data.dtype);
  const [from, to] = numbersOf(data, copy);
  to.set(from);
  return copy;
}

/**
 * Writes the source's tokens over the target's, whoever else holds the target. Call it only where `writesInPlace`.
 *
 * @param target as many tokens, of rows of the same size and dtype
 */
export function copyColumns({ batch, heads }: Extent, source: TokenColumns, target: TokenColumns): void {
  const [from, to] = numbersOf(source.data, target.data);
  const [width, targetWidth] = [source.data.shape.at(-1)!, target.data.shape.at(-1)!];
  const { size } = target;
  const isWhole = size === width && size === targetWidth;
  const copy = (row: number, targetRow: number, count: number) => {
    const begin = row * width + source.first;
    to.set(from.subarray(begin, begin + count * size), targetRow * targetWidth + target.first);
  };
  for (let b = 0; b < batch; b++) {
    for (const [row, targetRow, count] of pairedRuns(source.runs(b), target.runs(b))) {
      for (let h = 0; h < heads; h++) {
        const [first, targetFirst] = [row + h * source.headStride, targetRow + h * target.headStride];
        if (isWhole) copy(first, targetFirst, count);
        else for (let n = 0; n < count; n++) copy(first + n, targetFirst + n, 1);
      }
    }
  }
}

/**
 * A copy of the target's tensor with the source's tokens written over the target's, in one operation. The scatter
 * operations of graphics cards compare each number with each token: there it is no way to write a prompt.
 *
 * @param target as many tokens, in rows that fill its tensor
 */
export function scatterColumns(extent: Extent, source: TokenColumns, target: TokenColumns): tf.Tensor2D {
  const [from, to] = [rowsOf(extent, source), rowsOf(extent, target)];
  const data = target.data as tf.Tensor2D;
  if (to.length === 0) return tf.clone(data);
  const updates = selectRows(source, from);
  return tf.tensorScatterUpdate(data, tf.tensor2d(to, [to.length, 1], 'int32'), updates) as tf.Tensor2D;
}

/** The rows of that number, [rows.length, size]. */
function selectRows({ data, first, size }: RowColumns, rows: readonly number[]): tf.Tensor2D {
  const width = data.shape.at(-1)!;
  const all = tf.reshape<tf.Rank.R2>(data, [data.size / width, width]);
  const isAll = rows.length === all.shape[0] && rows.every((row, n) => row === n);
  const selected = isAll ? all : tf.gather(all, tf.tensor1d([...rows], 'int32'));
  return size === width ? selected : tf.slice(selected, [0, first], [rows.length, size]);
}

/** The row of each token, heads one after another in each batch entry. */
function rowsOf({ batch, heads }: Extent, { headStride, runs }: TokenColumns): number[] {
  const rows: number[] = [];
  for (let b = 0; b < batch; b++) {
    const own = runs(b);
    for (let h = 0; h < heads; h++) {
      for (let n = 0; n < own.length; n += 2) {
        for (let i = 0; i < own[n + 1]!; i++) rows.push(own[n]! + h * headStride + i);
      }
    }
  }
  return rows;
}

/** Where the tokens of a batch entry are in a source and in a target, as long as both are consecutive. */
function pairedRuns(
  source: Int32Array,
  target: Int32Array,
): [row: number, targetRow: number, count: number][] {
  const pairs: [number, number, number][] = [];
  for (let i = 0, j = 0, done = 0, written = 0; i < source.length && j < target.length; ) {
    const count = Math.min(source[i + 1]! - done, target[j + 1]! - written);
    pairs.push([source[i]! + done, target[j]! + written, count]);
    done += count;
    written += count;
    if (done === source[i + 1]) [i, done] = [i + 2, 0];
    if (written === target[j + 1]) [j, written] = [j + 2, 0];
  }
  return pairs;
}

/**
 * The tokens of each source behind those of the one before, then zeros, by operations. Call it inside a tidy. A slice
 * alone may share the memory of its source, which nobody can write where this is used.
 *
 * @param layout `equalLayout` or `packedLayout`
 * @returns [layout.rows, size]
 */
export function joinColumns(
  { batch, heads }: Extent,
  sources: readonly TokenColumns[],
  layout: { readonly rows: number; readonly headStride: number },
): tf.Tensor2D {
  const { size } = sources[0]!;
  const { rows, headStride } = layout;
  if (rows === 0) return tf.zeros([0, size]);
  const entries = Array.from({ length: batch }, (_, b) =>
    sources.flatMap((source) => runsOf(source, b, heads)),
  );
  // Batch entries share each head's rows, or each has heads of its own.
  const filled = (headStride * heads === rows ? [entries.flat()] : entries).map((pieces) => {
    const missing = pieces.reduce((space, piece) => space - piece.shape[1], headStride);
    const all = missing > 0 ? [...pieces, tf.zeros<tf.Rank.R3>([heads, missing, size])] : pieces;
    return all.length === 1 ? all[0]! : tf.concat(all, 1);
  });
  return tf.reshape(filled.length === 1 ? filled[0]! : tf.concat(filled, 0), [rows, size]);
}

/** The runs of a batch entry, each [H, count, size]. */
function runsOf(
  { data, first, size, headStride, runs }: TokenColumns,
  b: number,
  heads: number,
): tf.Tensor3D[] {
  const own = runs(b);
  const width = data.shape.at(-1)!;
  const perHead: [number, number, number] = [data.size / width / headStride, headStride, width];
  return Array.from({ length: own.length / 2 }, (_, n) => {
    const [row, count] = [own[2 * n]!, own[2 * n + 1]!];
    const [head, offset] = [Math.floor(row / headStride), row % headStride];
    if (Number.isInteger(perHead[0]) && offset + count <= headStride) {
      return tf.slice(tf.reshape(data, perHead), [head, offset, first], [heads, count, size]) as tf.Tensor3D;
    }
    const one = { batch: 1, heads };
    const rows = rowsOf(one, { data, first, size, headStride, runs: () => Int32Array.of(row, count) });
    return tf.reshape<tf.Rank.R3>(selectRows({ data, first, size }, rows), [heads, count, size]);
  });
}

/** The numbers of two tensors where they lie, until the next allocation. */
function numbersOf(one: tf.Tensor, other: tf.Tensor): readonly [Float32Array, Float32Array] {
  if (hasWasmHeap()) return viewsOnHeap(one, other);
  const { data } = tf.backend() as unknown as CpuBackend;
  return [data.get(one.dataId).values, data.get(other.dataId).values];
}
