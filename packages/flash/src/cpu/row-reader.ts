// Rows of keys or values read as they lie: tensors, one piece or several, rings, pages, 8- and 4-bit numbers.
import type { KeyValuePart, RowMatrix, Span } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { StoredRun } from '../stored-runs';

export interface RowReader {
  /** Writes the rows of the tokens of a span, one head's, as doubles. */
  read(b: number, head: number, [from, to]: Span, rows: Float64Array): void;
}

/** Rows of one kind, keys or values. */
export interface Piece {
  readonly headStride: number; // rows from one head to the next
  readonly readRow: ReadRow;
}

type ReadRow = (row: number, to: Float64Array, at: number) => void;

/**
 * @param piecesOf asked when a row is first read: numbers that nobody needs are not copied from their backend
 * @param runsOf where the tokens of a batch entry lie in them
 * @param size numbers a row
 */
export function rowReader(
  piecesOf: () => readonly Piece[],
  runsOf: (b: number) => readonly StoredRun[],
  size: number,
): RowReader {
  let pieces: readonly Piece[] | undefined;
  const known = new Map<number, readonly StoredRun[]>();
  return {
    read(b, head, [from, to], rows) {
      pieces ??= piecesOf();
      if (!known.has(b)) known.set(b, runsOf(b));
      for (const { part, token, count, row } of known.get(b)!) {
        const { headStride, readRow } = pieces[part]!;
        const [first, last] = [Math.max(from, token), Math.min(to, token + count)];
        const offset = row + head * headStride - token;
        for (let t = first; t < last; t++) readRow(offset + t, rows, (t - from) * size);
      }
    },
  };
}

/** A tensor [B, H, S, N] is storage of one piece. */
export function pieceOfTensor(x: tf.Tensor4D): Piece {
  const [, , S, N] = x.shape;
  const readRow = readFloats(x.dataSync(), { width: N, first: 0, size: N });
  return { readRow, headStride: S };
}

export function runsOfTensor({ shape: [, H, S] }: tf.Tensor4D, b: number): readonly StoredRun[] {
  return [{ part: 0, token: 0, count: S, row: b * H * S }];
}

export function pieceOfPart(part: KeyValuePart, kind: 'key' | 'value'): Piece {
  const { data, first, size, quantized } = part[kind];
  const readRow = quantized
    ? readQuantized(part[kind], quantized)
    : readFloats(data.dataSync(), { width: data.shape[1], first, size });
  return { readRow, headStride: part.headStride };
}

function readFloats(
  numbers: ArrayLike<number>,
  { width, first, size }: { readonly width: number; readonly first: number; readonly size: number },
): ReadRow {
  return (row, to, at) => {
    const begin = row * width + first;
    for (let i = 0; i < size; i++) to[at + i] = numbers[begin + i]!;
  };
}

/**
 * A row's numbers fill words from their low bits up. A number n is `scale · n`, n with a sign; with a zero it is
 * `zero + scale · n`, n without. A scale serves `rowsPerScale` rows, and each of its columns an equal part of a row.
 */
function readQuantized(
  { data, first, size }: RowMatrix,
  quantized: NonNullable<RowMatrix['quantized']>,
): ReadRow {
  const { bits, rowsPerScale } = quantized;
  const [words, width] = [data.dataSync(), data.shape[1]];
  const [scales, zeros] = [quantized.scale.dataSync(), quantized.zero?.dataSync()];
  const [columns, perWord] = [quantized.scale.shape[1], 32 / bits];
  return (row, to, at) => {
    const begin = row * width + first;
    const scaleAt = Math.floor(row / rowsPerScale) * columns;
    for (let i = 0; i < size; i++) {
      const up = words[begin + Math.floor(i / perWord)]! << (32 - bits - (i % perWord) * bits);
      const n = zeros ? up >>> (32 - bits) : up >> (32 - bits);
      const scale = scaleAt + Math.floor((i * columns) / size);
      to[at + i] = scales[scale]! * n + (zeros?.[scale] ?? 0);
    }
  };
}
