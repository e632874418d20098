// What a storage of keys and values says of itself is judged before a kernel reads it: on a heap, rows outside of its data
// would be numbers of strangers.
import { ConfigError, ShapeError } from '../contract/errors';
import type { ComingRows, KeyValuePart, RowMatrix, StoredKeyValue } from '../contract/key-value-cache';
import { checkTensor } from './check-tensor';

/**
 * The sizes of stored rows.
 *
 * @throws ConfigError for what is no storage; ShapeError for rows outside of their data, and for others than the lengths say
 */
export function checkStored(where: string, stored: StoredKeyValue) {
  const { heads, keySize, valueSize, lengths } = stored;
  const sizesAreCounts = [heads, keySize, valueSize].every(isCount);
  if (typeof stored.materialize !== 'function' || !Array.isArray(lengths) || !sizesAreCounts) {
    throw new ConfigError(where, 'stored must be a StoredKeyValue, as a cache stages and reads it', {
      stored,
    });
  }
  if (!lengths.every(isCount)) {
    const rule = 'the lengths of stored rows must be whole numbers of at least 0';
    throw new ShapeError(where, rule, storedFacts(stored));
  }
  checkParts(where, stored);
  return { batch: lengths.length, heads, Skv: Math.max(0, ...lengths), keySize, Dv: valueSize };
}

/** What an error shows of a storage. */
export function storedFacts({ heads, keySize, valueSize, lengths }: Sizes) {
  return {
    'stored heads': heads,
    'stored key size': keySize,
    'stored value size': valueSize,
    'stored lengths': lengths,
  };
}

/**
 * Rows that a cache has reserved, before a layer writes to them.
 *
 * @param heads key [B, Hkv, S, D] and value [B, Hkv, S, Dv], of which the first `lengths[b]` tokens are to be written
 * @throws as `checkStored` does, and ShapeError for rows that are no floats
 */
export function checkReserved(where: string, rows: KeyValuePart, { key, value, lengths }: ComingRows): void {
  const [B, heads, S, keySize] = key.shape;
  const counts = lengths ?? Array<number>(B).fill(S);
  checkParts(where, { parts: [rows], heads, keySize, valueSize: value.shape[3], lengths: counts });
  if (!rows.key.quantized && !rows.value.quantized) return;
  throw new ShapeError(where, 'reserved rows must be float32', {
    key: rows.key.data,
    value: rows.value.data,
  });
}

type Sizes = Pick<StoredKeyValue, 'heads' | 'keySize' | 'valueSize' | 'lengths'>;

function checkParts(where: string, stored: Sizes & Pick<StoredKeyValue, 'parts'>): void {
  const { parts, lengths, keySize, valueSize } = stored;
  if (!Array.isArray(parts)) throw new ConfigError(where, 'stored.parts must be a list', { parts });
  if (parts.length === 0) return; // a storage that only gives tensors
  const counts = lengths.map(() => 0);
  for (const part of parts as readonly KeyValuePart[]) {
    checkPart(where, part);
    const rows = Math.min(
      rowsOf(where, 'key', part.key, keySize),
      rowsOf(where, 'value', part.value, valueSize),
    );
    const lastHead = (stored.heads - 1) * part.headStride;
    for (let b = 0; b < counts.length; b++) {
      const runs = runsOf(where, part, b);
      for (let n = 0; n < runs.length; n += 2) {
        const [first, count] = [runs[n]!, runs[n + 1]!];
        const last = first + count + Math.max(0, lastHead);
        if (isCount(first) && isCount(count) && first + Math.min(0, lastHead) >= 0 && last <= rows) {
          counts[b]! += count;
          continue;
        }
        throw new ShapeError(where, 'the runs of stored rows must lie inside their data', {
          ...storedFacts(stored),
          'rows of the data': rows,
          'run: first row, rows': [first, count],
          headStride: part.headStride,
        });
      }
    }
  }
  if (counts.every((count, b) => count === lengths[b])) return;
  throw new ShapeError(where, 'the runs of stored rows must sum to their lengths', {
    ...storedFacts(stored),
    'rows in runs': counts,
  });
}

function checkPart(where: string, part: KeyValuePart): void {
  const { runs, headStride } = part ?? {};
  if (typeof runs === 'function' && Number.isInteger(headStride)) return;
  throw new ConfigError(where, 'a part of stored rows must have runs(b), and a whole number for headStride', {
    part,
    headStride,
  });
}

function runsOf(where: string, part: KeyValuePart, b: number): Int32Array {
  const runs: unknown = part.runs(b);
  if (runs instanceof Int32Array && runs.length % 2 === 0) return runs;
  throw new ConfigError(where, 'runs of stored rows must be an Int32Array of pairs: first row, count', {
    b,
    runs,
  });
}

/** How many rows the data has, with their scales. */
function rowsOf(where: string, name: 'key' | 'value', matrix: RowMatrix, size: number): number {
  const { data, first, quantized } = matrix ?? {};
  const label = `the stored ${name} data`;
  checkTensor(where, label, data, ['[rows, columns]', {}, quantized ? 'int32' : 'float32']);
  const [rows, columns] = data.shape as [number, number];
  const wide = quantized ? Math.ceil((size * quantized.bits) / 32) : size;
  if (matrix.size === size && isCount(first) && first + wide <= columns) {
    return quantized ? Math.min(rows, rowsOfScales(where, name, quantized)) : rows;
  }
  throw new ShapeError(where, `${label} must hold rows of the size of a ${name}`, {
    data,
    'first column': first,
    size: matrix.size,
    'size needed': size,
  });
}

/** How many rows the scales serve. */
function rowsOfScales(
  where: string,
  name: 'key' | 'value',
  { bits, scale, zero, rowsPerScale }: NonNullable<RowMatrix['quantized']>,
): number {
  checkTensor(where, `the scales of the stored ${name}`, scale, ['[rows / rowsPerScale, parts of a row]']);
  if (zero)
    checkTensor(where, `the zeros of the stored ${name}`, zero, ['[rows / rowsPerScale, parts of a row]']);
  const isWord = bits === 4 || bits === 8;
  if (isWord && isCount(rowsPerScale) && (!zero || `${zero.shape}` === `${scale.shape}`)) {
    return scale.shape[0] * rowsPerScale;
  }
  throw new ShapeError(
    where,
    `the stored ${name} must have 4 or 8 bits, and zeros of the shape of its scales`,
    {
      bits,
      scale,
      zero,
      rowsPerScale,
    },
  );
}

function isCount(x: unknown): boolean {
  return Number.isInteger(x) && (x as number) >= 0;
}
