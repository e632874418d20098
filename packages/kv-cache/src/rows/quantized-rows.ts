// Rows as words of 8- or 4-bit numbers, with a scale beside them, as `RowMatrix` of core describes them.
import { type CacheShape, type KeyValuePart, type RowMatrix, UnsupportedError } from '@polyhead/core';
import { backendTraits } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { allColumns } from './row-columns';
import {
  gatherColumns,
  packedLayout,
  type RowLayout,
  runsIn,
  selectTokens,
  type TokenRows,
  tokensOf,
} from './row-storage';

/**
 * How a number is kept. `'int8'`: n in -127 … 127, a row of a head has one scale, x ≈ scale n, scale = max |x| / 127.
 * `'int4'`: n in 0 … 15, each 32 numbers of a row have a scale and a zero, x ≈ zero + scale n, zero = min x,
 * scale = (max x - min x) / 15. Either is off by at most scale / 2.
 */
export type NumberFormat = 'int8' | 'int4';

/**
 * How keys are kept: as any number, or `'int4-channel'`, where a scale and a zero serve one number of 32 tokens that follow
 * each other, and the newest tokens are exact (KIVI, Liu et al. 2024, 2402.02750): some numbers of keys are large in all
 * tokens.
 */
export type KeyFormat = NumberFormat | 'int4-channel';

/** How keys are kept, and how values. */
export interface RowFormats {
  readonly key: KeyFormat;
  readonly value: NumberFormat;
}

const numbersPerScale = 32; // of 4-bit numbers

/** Bits of a number, rows that share scales, and words and scales of a row. */
function layoutOf(format: KeyFormat, size: number) {
  const bits = format === 'int8' ? 8 : 4;
  const words = Math.ceil((size * bits) / 32);
  if (format === 'int4-channel')
    return { bits, words, rowsPerScale: numbersPerScale, columns: size } as const;
  const columns = format === 'int8' ? 1 : Math.ceil(size / numbersPerScale);
  return { bits, words, rowsPerScale: 1, columns } as const;
}

/** How rows lie: columns of words, and of scales and zeros for so many rows together. */
export function formatOfRows(format: KeyFormat, size: number) {
  const { bits, words, rowsPerScale, columns } = layoutOf(format, size);
  return { bits, columns: words, scales: columns, hasZero: bits === 4, rowsPerScale };
}

export function formatOfFloats(size: number) {
  return { bits: 32, columns: size, scales: 0, hasZero: false, rowsPerScale: 1 };
}

/** Bytes of so many rows of numbers, with their scales and zeros. */
export function quantizedBytes(format: KeyFormat, size: number, rows: number): number {
  const { bits, words, rowsPerScale, columns } = layoutOf(format, size);
  return 4 * (rows * words + (rows / rowsPerScale) * columns * (bits === 8 ? 1 : 2));
}

/** How many of an entry's tokens are in whole blocks behind which `residual` tokens are left. */
export function tokensInBlocks(length: number, residual: number): number {
  return Math.floor(Math.max(0, length - residual) / numbersPerScale) * numbersPerScale;
}

/**
 * Float rows in tensors of their own; keys by channel are still floats. A row with a number that is not finite becomes NaN;
 * of `int4`, that part of it; of keys by channel, its value, since a block of keys shares scales.
 *
 * @throws UnsupportedError where no number can be read without waiting
 */
export function quantizeRows(where: string, rows: TokenRows, formats: RowFormats): KeyValuePart {
  if (!backendTraits().synchronousRead) {
    const reasons = [`numbers cannot be read at once on the backend ${tf.getBackend()}`];
    throw new UnsupportedError(where, 'rows must be readable to be quantized', reasons);
  }
  const { headStride, runs, key, value } = rows;
  const isByChannel = formats.key === 'int4-channel';
  return {
    key: isByChannel
      ? allColumns(tf.reshape(key.data, [-1, key.size]))
      : quantized(key, formats.key as NumberFormat),
    value: quantized(value, formats.value, isByChannel ? key : undefined),
    headStride,
    runs,
  };
}

/** @param beside rows of which each that is not finite makes the one here NaN */
function quantized(
  { data, size }: TokenRows['key'],
  format: KeyFormat,
  beside?: TokenRows['key'],
): RowMatrix {
  const numbers = data.dataSync() as Float32Array;
  const rows = numbers.length / size;
  const { bits, words: width, rowsPerScale, columns } = layoutOf(format, size);
  const isSigned = bits === 8;
  const words = new Int32Array(rows * width);
  const scale = new Float32Array((rows / rowsPerScale) * columns);
  const zero = new Float32Array(isSigned ? 0 : scale.length);
  const perWord = 32 / bits;
  const levels = 2 ** bits - 1;
  const [lowest, highest] = isSigned ? [-127, 127] : [0, levels];
  for (let at = 0; at < scale.length; at++) {
    const [firstRow, part] = [Math.floor(at / columns) * rowsPerScale, at % columns];
    // The numbers i of a part are those with floor(i · columns / size) = part.
    const [from, to] = [part, part + 1].map((n) => Math.ceil((n * size) / columns)) as [number, number];
    const each = (visit: (x: number, row: number, i: number) => void) => {
      for (let row = firstRow; row < firstRow + rowsPerScale; row++)
        for (let i = from; i < to; i++) visit(numbers[row * size + i]!, row, i);
    };
    let [least, most] = [Infinity, -Infinity];
    each((x) => {
      if (rowsPerScale > 1 && !Number.isFinite(x)) return; // other tokens go on
      least = Math.min(least, x); // NaN where one is
      most = Math.max(most, x);
    });
    if (!isSigned) zero[at] = least;
    scale[at] = isSigned ? Math.max(-least, most) / 127 : (most - least) / levels;
    const [step, start] = [scale[at]!, isSigned ? 0 : zero[at]!];
    if (!(step > 0 && step < Infinity)) continue; // all are alike, or one is not finite: n = 0
    each((x, row, i) => {
      const n = Math.min(Math.max(Math.round((x - start) / step), lowest), highest);
      words[row * width + Math.floor(i / perWord)]! |= (n & levels) << ((i % perWord) * bits);
    });
  }
  (beside?.data.dataSync() as Float32Array | undefined)?.forEach((x, n) => {
    if (!Number.isFinite(x))
      scale.fill(NaN, Math.floor(n / beside!.size) * columns, (Math.floor(n / beside!.size) + 1) * columns);
  });
  const floats = (x: Float32Array) => tf.tensor2d(x, [rows / rowsPerScale, columns]);
  return {
    data: tf.tensor2d(words, [rows, width], 'int32'),
    first: 0,
    size,
    quantized: { bits, scale: floats(scale), ...(!isSigned && { zero: floats(zero) }), rowsPerScale },
  };
}

/**
 * The same numbers as floats, in a tensor of their own where they are words.
 *
 * @throws UnsupportedError where no number can be read without waiting
 */
export function asFloats(matrix: RowMatrix): RowMatrix {
  const { data, first, size, quantized } = matrix;
  if (!quantized) return matrix;
  if (!backendTraits().synchronousRead) {
    const reasons = [`quantized rows cannot be read at once on the backend ${tf.getBackend()}`];
    throw new UnsupportedError('materialize', 'rows must be readable', reasons);
  }
  const { bits, rowsPerScale, scale, zero } = quantized;
  const [words, width, perWord, columns] = [data.dataSync(), data.shape.at(-1)!, 32 / bits, scale.shape[1]];
  const [scales, zeros] = [scale.dataSync(), zero?.dataSync()];
  const rows = data.size / width;
  const numbers = new Float32Array(rows * size);
  for (let at = 0; at < numbers.length; at++) {
    const [row, i] = [Math.floor(at / size), at % size];
    const up = words[row * width + first + Math.floor(i / perWord)]! << (32 - bits - (i % perWord) * bits);
    const n = zeros ? up >>> (32 - bits) : up >> (32 - bits);
    const of = Math.floor(row / rowsPerScale) * columns + Math.floor((i * columns) / size);
    numbers[at] = scales[of]! * n + (zeros?.[of] ?? 0);
  }
  return allColumns(tf.tensor2d(numbers, [rows, size]));
}

type Parts = readonly KeyValuePart[];

/**
 * New rows behind those held, which stay where they are but for the last: it is copied while it has no more tokens than
 * what comes. So there are few parts, and each row is copied as often as the number of rows doubles.
 */
export function appendPart(shape: CacheShape, held: Parts, added: KeyValuePart): Parts {
  let kept = held.length;
  let tokens = tokensIn(shape, added);
  while (kept > 0 && tokensIn(shape, held[kept - 1]!) <= tokens) tokens += tokensIn(shape, held[--kept]!);
  return [...held.slice(0, kept), ...packParts(shape, [...held.slice(kept), added])];
}

/** The same tokens in tensors that hold no others. */
export function exactParts(shape: CacheShape, parts: Parts): Parts {
  const isExact = (part: KeyValuePart) =>
    part.key.data.shape[0] === shape.heads * tokensIn(shape, part) && part.key.data.shape[0] > 0;
  return parts.flatMap((part) => (isExact(part) ? [part] : packParts(shape, [part])));
}

/** The same tokens, keys in whole blocks by channel, and the last ones, at least `residual`, as floats. */
export function blockParts(shape: CacheShape, parts: Parts, residual: number): Parts {
  const lengths = lengthsOf(shape, parts);
  const blocks = lengths.map((length) => tokensInBlocks(length, residual));
  const old = selectTokens(
    parts,
    blocks.map((end) => [[0, end]]),
  );
  const rest = selectTokens(
    parts,
    blocks.map((start, b) => [[start, lengths[b]!]]),
  );
  const inWords = exactParts(
    shape,
    old.filter(({ key }) => key.quantized),
  );
  const [fresh] = packParts(
    shape,
    old.filter(({ key }) => !key.quantized),
  );
  const all = fresh
    ? appendPart(shape, inWords, { ...fresh, key: quantized(fresh.key, 'int4-channel') })
    : inWords;
  return [...all, ...packParts(shape, rest, true)];
}

/** All tokens in one part that holds exactly them; no part where there is no token. */
export function packParts(shape: CacheShape, parts: Parts, keysAsFloats = false): Parts {
  const lengths = lengthsOf(shape, parts);
  if (Math.max(...lengths) === 0) return [];
  const layout = packedLayout(shape, lengths);
  const filled = parts.filter((part) => tokensIn(shape, part) > 0);
  const matrix = (name: 'key' | 'value') =>
    keysAsFloats && name === 'key'
      ? gatherFloats(shape, { parts: filled, name, layout })
      : packMatrix(shape, { parts: filled, name, layout });
  const { headStride } = layout;
  return [{ key: matrix('key'), value: matrix('value'), headStride, runs: runsIn(layout, lengths) }];
}

interface Packing {
  readonly parts: Parts;
  readonly name: 'key' | 'value';
  readonly layout: RowLayout;
}

function gatherFloats(shape: CacheShape, { parts, name, layout }: Packing): RowMatrix {
  const floats = parts.map((part) => ({ ...part, [name]: asFloats(part[name]) }));
  return allColumns(gatherColumns(shape, floats, { layout, name }));
}

/** Words where all have them, else floats. */
function packMatrix(shape: CacheShape, { parts, name, layout }: Packing): RowMatrix {
  const like = parts[0]![name];
  if (!parts.every((part) => part[name].quantized)) {
    return gatherFloats(shape, { parts, name, layout });
  }
  const gather = (dataOf: (matrix: RowMatrix) => tf.Tensor2D, rowsPerScale: number): tf.Tensor2D => {
    const per = (n: number) => n / rowsPerScale;
    const sources = parts.map(({ headStride, runs, ...matrices }): TokenRows => {
      const columns = allColumns(dataOf(matrices[name]));
      return { key: columns, value: columns, headStride: per(headStride), runs: (b) => runs(b).map(per) };
    });
    const { rows, headStride, first } = layout;
    const scaled = { rows: per(rows), headStride: per(headStride), first: first.map(per) };
    return gatherColumns(shape, sources, { layout: scaled, name });
  };
  const { bits, zero, rowsPerScale } = like.quantized!;
  return {
    data: gather(({ data }) => data, 1),
    first: 0,
    size: like.size,
    quantized: {
      bits,
      scale: gather((matrix) => matrix.quantized!.scale, rowsPerScale),
      ...(zero && { zero: gather((matrix) => matrix.quantized!.zero!, rowsPerScale) }),
      rowsPerScale,
    },
  };
}

/** Tokens of each batch entry: [B]. */
function lengthsOf({ batch }: CacheShape, parts: Parts): number[] {
  return Array.from({ length: batch }, (_, b) => parts.reduce((sum, part) => sum + tokensOf(part, b), 0));
}

function tokensIn(shape: CacheShape, part: KeyValuePart): number {
  return lengthsOf(shape, [part]).reduce((sum, length) => sum + length, 0);
}
