// Where the rows of stored keys and values lie. Runs come from a cache when they are asked for, so they are judged here:
// rows outside of the storage would be another tensor's numbers.
import {
  ConfigError,
  type KeyValuePart,
  type RowMatrix,
  ShapeError,
  type StoredKeyValue,
} from '@polyhead/core';

/** Rows that follow each other, in token order. */
export interface StoredRun {
  readonly part: number; // its place among the parts
  readonly token: number; // the first
  readonly count: number;
  readonly row: number; // of head 0
}

/**
 * The runs of a batch entry, those of all parts one after another.
 *
 * @throws ConfigError for runs that are no pairs of whole numbers
 * @throws ShapeError where their rows lie outside of the storage, or are not as many as the entry has tokens
 */
export function storedRuns(where: string, stored: StoredKeyValue, b: number): readonly StoredRun[] {
  const runs: StoredRun[] = [];
  let token = 0;
  stored.parts.forEach((part, n) => {
    const pairs = part.runs(b);
    checkPairs(where, pairs, { part: n, batch: b });
    for (let r = 0; r < pairs.length; r += 2) {
      const [row, count] = [pairs[r]!, pairs[r + 1]!];
      if (count === 0) continue;
      checkRows(where, part, stored, { part: n, batch: b, row, count });
      runs.push({ part: n, token, count, row });
      token += count;
    }
  });
  const length = stored.lengths[b]!;
  if (token === length) return runs;
  throw new ShapeError(where, 'runs of stored rows must hold as many tokens as lengths says', {
    batch: b,
    'tokens of the runs': token,
    length,
  });
}

type Facts = { readonly [name: string]: number };

function checkPairs(where: string, pairs: unknown, facts: Facts): void {
  if (pairs instanceof Int32Array && pairs.length % 2 === 0 && pairs.every((n) => n >= 0)) return;
  throw new ConfigError(where, 'runs of stored rows must be an Int32Array of first rows and counts', {
    ...facts,
    runs: pairs,
  });
}

function checkRows(where: string, part: KeyValuePart, { heads }: StoredKeyValue, facts: Facts): void {
  const { key, value, headStride } = part;
  const end = facts.row! + facts.count! + (heads - 1) * headStride;
  const rows = Math.min(rowsOf(key), rowsOf(value));
  if (Number.isInteger(headStride) && headStride >= 0 && end <= rows) return;
  throw new ShapeError(where, 'runs of stored rows must lie within the data', {
    ...facts,
    headStride,
    'rows of the data': rows,
  });
}

/** Rows that a matrix holds, with their scales; none where they are not as wide as it says. */
function rowsOf({ data, first, size, quantized }: RowMatrix): number {
  const [rows, width] = data.shape;
  const words = quantized ? Math.ceil((size * quantized.bits) / 32) : size;
  if (!(first >= 0) || first + words > width) return 0;
  return quantized ? Math.min(rows, quantized.scale.shape[0] * quantized.rowsPerScale) : rows;
}
