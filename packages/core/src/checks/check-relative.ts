import type * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { CallSizes } from '../contract/kernel';
import type { DistanceIndex, RelativeTables } from '../contract/position';
import { checkKnownOptions } from './check-config';
import { checkTensor } from './check-tensor';
import { normalizeOptions } from './normalize-options';

/** @throws ShapeError, ConfigError for tables that do not fit the call; it names the table */
export function checkRelative(where: string, relative: RelativeTables, sizes: CallSizes): void {
  const { B, Hq, Sq, D, Dv } = sizes;
  if (typeof relative !== 'object' || relative === null)
    throw new ConfigError(where, 'relative must hold tables', { relative });
  checkKnownOptions(where, 'relative', relative, ['bias', 'keys', 'queries', 'values']);
  const { bias, keys, queries, values } = relative;
  if (isPresent(bias)) checkTable(where, 'bias', bias, { shape: '[Hq, R]', heads: [Hq] });
  if (isPresent(keys)) checkTable(where, 'keys', keys, { shape: '[1 | Hq, R, D]', heads: [1, Hq], width: D });
  if (isPresent(queries))
    checkTable(where, 'queries', queries, { shape: '[1 | Hq, R, D]', heads: [1, Hq], width: D });
  if (isPresent(values))
    checkTable(where, 'values', values, { shape: '[1 | Hq, R, Dv]', heads: [1, Hq], width: Dv });
  if (!isPresent(keys) || !isPresent(keys.query)) return;
  const name = 'relative.keys.query';
  checkTensor(where, name, keys.query, ['[B, Hq, Sq, D]']);
  if (`${keys.query.shape}` === `${[B, Hq, Sq, D]}`) return;
  throw new ShapeError(where, `${name} must have the shape of the query`, {
    [name]: keys.query,
    query: [B, Hq, Sq, D],
  });
}

function isPresent<T>(value: T | undefined | null): value is T {
  return value !== undefined && value !== null;
}

function checkTable(
  where: string,
  kind: string,
  lookup: { readonly table: tf.Tensor; readonly index: DistanceIndex },
  {
    shape,
    heads,
    width,
  }: { readonly shape: string; readonly heads: readonly number[]; readonly width?: number },
): void {
  const names = kind === 'keys' ? ['table', 'index', 'query'] : ['table', 'index'];
  const { table, index } = normalizeOptions<object>(
    where,
    `relative.${kind}`,
    lookup,
    names as never,
  ) as typeof lookup;
  const name = `relative.${kind}.table`;
  checkTensor(where, name, table, [shape]);
  const [H, R, N] = table.shape as [number, number, number?];
  if (!heads.includes(H) || R < 1 || N !== width) {
    throw new ShapeError(where, `${name} must be ${shape}`, {
      [name]: table,
      Hq: heads.at(-1),
      'head size': width,
    });
  }
  checkIndex(where, `relative.${kind}.index`, index, R);
}

function checkIndex(where: string, name: string, index: DistanceIndex, R: number): void {
  const { from, rows } = index ?? {};
  // Kernels take distances and rows in 32 bits.
  if (!Number.isInteger(from) || Math.abs(from) >= 2 ** 30) {
    throw new ConfigError(where, `${name}.from must be a whole number within 30 bits`, {
      [name]: index,
      from,
    });
  }
  if (rows === undefined) return;
  if (!(rows instanceof Int32Array) || rows.length === 0) {
    throw new ConfigError(where, `${name}.rows must be an Int32Array of at least one row`, { [name]: rows });
  }
  const wrong = rows.find((row) => row < 0 || row >= R);
  if (wrong === undefined) return;
  throw new ShapeError(where, `${name}.rows must be rows of the table`, {
    'rows of the table': R,
    row: wrong,
  });
}
