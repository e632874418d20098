// Rows as words of 8- or 4-bit numbers, with a scale beside them, as `RowMatrix` of core describes them.
import { type CacheShape, type KeyValuePart, type RowMatrix, UnsupportedError } from '@polyhead/core';
import { backendTraits } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import {
  gatherColumns,
  packedLayout,
  type RowLayout,
  runsIn,
  type TokenRows,
  tensorsOf,
  tokensOf,
} from './row-storage';

/**
 * How a number is kept. `'int8'`: n in -127 … 127, a row of a head has one scale, x ≈ scale n, scale = max |x| / 127.
 * `'int4'`: n in 0 … 15, each 32 numbers of a row have a scale and a zero, x ≈ zero + scale n, zero = min x,
 * scale = (max x - min x) / 15. Either is off by at most scale / 2.
 */
export type NumberFormat = 'int8' | 'int4';

/** How keys are kept, and how values. */
export interface RowFormats {
  readonly key: NumberFormat;
  readonly value: NumberFormat;
}

const bitsOf = { int8: 8, int4: 4 } as const;
const numbersPerScale = 32; // of 4-bit numbers

/** Tensors of one row: words, scales and zeros. */
function columnsOf(format: NumberFormat, size: number) {
  const words = Math.ceil((size * bitsOf[format]) / 32);
  return format === 'int8'
    ? { words, scales: 1, zeros: 0 }
    : { words, scales: Math.ceil(size / numbersPerScale), zeros: Math.ceil(size / numbersPerScale) };
}

/** Bytes of a row of so many numbers, with its scales. */
export function quantizedRowBytes(format: NumberFormat, size: number): number {
  const { words, scales, zeros } = columnsOf(format, size);
  return 4 * (words + scales + zeros);
}

/**
 * Float rows in tensors of their own. A row with a number that is not finite becomes NaN; of `int4`, that part of it.
 *
 * @throws UnsupportedError where no number can be read without waiting
 */
export function quantizeRows(where: string, rows: TokenRows, formats: RowFormats): KeyValuePart {
  if (!backendTraits().synchronousRead) {
    const reasons = [`numbers cannot be read at once on the backend ${tf.getBackend()}`];
    throw new UnsupportedError(where, 'rows must be readable to be quantized', reasons);
  }
  const { headStride, runs } = rows;
  return {
    key: quantized(rows.key, formats.key),
    value: quantized(rows.value, formats.value),
    headStride,
    runs,
  };
}

function quantized({ data, size }: TokenRows['key'], format: NumberFormat): RowMatrix {
  const numbers = data.dataSync() as Float32Array;
  const rows = numbers.length / size;
  const { words: width, scales: columns, zeros } = columnsOf(format, size);
  const words = new Int32Array(rows * width);
  const [scale, zero] = [new Float32Array(rows * columns), new Float32Array(rows * zeros)];
  const bits = bitsOf[format];
  const perWord = 32 / bits;
  const levels = 2 ** bits - 1;
  for (let row = 0; row < rows; row++) {
    for (let part = 0; part < columns; part++) {
      // The numbers i of a part are those with floor(i · columns / size) = part.
      const [from, to] = [part, part + 1].map((n) => Math.ceil((n * size) / columns)) as [number, number];
      let [least, most] = [Infinity, -Infinity];
      for (let i = from; i < to; i++) {
        const x = numbers[row * size + i]!;
        least = Math.min(least, x); // NaN where one is
        most = Math.max(most, x);
      }
      const at = row * columns + part;
      if (zeros > 0) zero[at] = least;
      scale[at] = zeros > 0 ? (most - least) / levels : Math.max(-least, most) / 127;
      const [step, start] = [scale[at]!, zeros > 0 ? zero[at]! : 0];
      if (!(step > 0 && step < Infinity)) continue; // all are alike, or one is not finite: n = 0
      for (let i = from; i < to; i++) {
        const n = Math.round((numbers[row * size + i]! - start) / step);
        const kept = zeros > 0 ? Math.min(Math.max(n, 0), levels) : Math.min(Math.max(n, -127), 127);
        words[row * width + Math.floor(i / perWord)]! |= (kept & levels) << ((i % perWord) * bits);
      }
    }
  }
  const floats = (x: Float32Array) => tf.tensor2d(x, [rows, columns]);
  return {
    data: tf.tensor2d(words, [rows, width], 'int32'),
    first: 0,
    size,
    quantized: { bits, scale: floats(scale), ...(zeros > 0 && { zero: floats(zero) }), rowsPerScale: 1 },
  };
}

/** All tokens of the parts in tensors that hold exactly them; no part where there is no token. */
export function packQuantized(shape: CacheShape, parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
  const lengths = Array.from({ length: shape.batch }, (_, b) =>
    parts.reduce((sum, part) => sum + tokensOf(part, b), 0),
  );
  if (Math.max(...lengths) === 0) return [];
  const layout = packedLayout(shape, lengths);
  const { headStride } = layout;
  const made: tf.Tensor[] = [];
  try {
    const matrix = (name: 'key' | 'value') => packMatrix(shape, { parts, name, layout, made });
    return [{ key: matrix('key'), value: matrix('value'), headStride, runs: runsIn(layout, lengths) }];
  } catch (error) {
    tf.dispose(made);
    throw error;
  }
}

interface Packing {
  readonly parts: readonly KeyValuePart[];
  readonly name: 'key' | 'value';
  readonly layout: RowLayout;
  /** What was allocated, to be given back where memory ends. */
  readonly made: tf.Tensor[];
}

function packMatrix(shape: CacheShape, { parts, name, layout, made }: Packing): RowMatrix {
  const gather = (dataOf: (matrix: RowMatrix) => tf.Tensor2D): tf.Tensor2D => {
    const sources = parts.map(({ headStride, runs, ...matrices }): TokenRows => {
      const data = dataOf(matrices[name]);
      const columns = { data, first: 0, size: data.shape[1] };
      return { key: columns, value: columns, headStride, runs };
    });
    const gathered = gatherColumns(shape, sources, { layout, name });
    made.push(gathered);
    return gathered;
  };
  const [{ [name]: like }] = parts as [KeyValuePart];
  const { bits, zero } = like.quantized!;
  return {
    data: gather(({ data }) => data),
    first: 0,
    size: like.size,
    quantized: {
      bits,
      scale: gather((matrix) => matrix.quantized!.scale),
      ...(zero && { zero: gather((matrix) => matrix.quantized!.zero!) }),
      rowsPerScale: 1,
    },
  };
}

/** Gives back the tensors of a part that is needed no more. */
export function disposePart(part: KeyValuePart): void {
  tf.dispose([...tensorsOf([part])]);
}
