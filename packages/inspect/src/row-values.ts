// A number of each query of each head, such as entropy, to be drawn beside its row.
import { ConfigError, ShapeError } from '@polyhead/core';
import { checkSizes } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { type EntryOptions, readEntry } from './read-entry';

/** `rows[h][i]`: the number of query i, or of a block of queries. One batch entry. */
export type RowValues = readonly (readonly number[])[];

/** By the names that their columns shall have, as `{ entropy }`. */
export type Beside = Readonly<Record<string, RowValues>>;

/**
 * A number of each query of one batch entry, read from a tensor, which stays the caller's.
 *
 * @param values [B, H, Sq], or [H, Sq]
 * @throws ShapeError for another rank, a disposed tensor, or a batch entry that is not there
 * @example
 * const { entropy } = attentionStatistics(inputs, options, { entropy: rowEntropy() }); // of @polyhead/flash
 * const rows = await readRows(entropy);
 */
export async function readRows(
  values: tf.Tensor2D | tf.Tensor3D,
  options: EntryOptions = {},
): Promise<RowValues> {
  return (await readEntry('readRows', ['values', 'H, Sq'], values, options)) as number[][];
}

/**
 * The mean of each block of queries, as the rows of a pooled map have it; the last block may be smaller.
 *
 * @param size queries of a block
 * @throws ShapeError, ConfigError for what are no rows, or blocks that hold nothing
 * @example
 * blockMeans([[1, 3, 5]], 2); // [[2, 5]]
 */
export function blockMeans(rows: RowValues, size: number): RowValues {
  const where = 'blockMeans';
  checkSizes(where, { size });
  if (!isRows(rows)) throw new ShapeError(where, 'rows must be numbers [H, Sq]', { rows });
  return rows.map((row) =>
    Array.from({ length: Math.ceil(row.length / size) }, (_, block) => {
      const values = row.slice(block * size, (block + 1) * size);
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    }),
  );
}

/**
 * A label for each block of tokens: the place of its first one.
 *
 * @param size tokens of a block
 * @throws ConfigError for sizes that cannot be
 * @example
 * blockLabels(150, 64); // ['0', '64', '128']
 */
export function blockLabels(tokens: number, size: number): string[] {
  checkSizes('blockLabels', { tokens, size });
  return Array.from({ length: Math.ceil(tokens / size) }, (_, block) => `${block * size}`);
}

function isRows(rows: unknown): rows is RowValues {
  const isRow = (row: unknown) => Array.isArray(row) && row.every((value) => typeof value === 'number');
  return Array.isArray(rows) && rows.every(isRow);
}

/** @throws ConfigError, ShapeError unless each has a number for each row of each head */
export function checkBeside(where: string, beside: Beside, [H, Sq]: readonly [number, number, number]): void {
  if (typeof beside !== 'object' || beside === null || Array.isArray(beside)) {
    throw new ConfigError(where, 'beside must be numbers by name, as { entropy }', { beside });
  }
  for (const [name, rows] of Object.entries(beside)) {
    if (isRows(rows) && rows.length === H && rows.every(({ length }) => length === Sq)) continue;
    throw new ShapeError(where, `${name} must have a number for each row of each head`, {
      [name]: isRows(rows) ? [rows.length, rows[0]?.length] : rows,
      '[H, rows]': [H, Sq],
    });
  }
}
