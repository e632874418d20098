// Numbers that are not finite, or overflow: such a row spoils exactly the rows that see it. Since 0 * NaN is NaN and
// NaN - Infinity is NaN, neither a weight of 0 nor a mask of -Infinity keeps it out. Slower, and only where it is needed.
import * as tf from '@tensorflow/tfjs-core';
import { computeOnHost, constant } from '../backend/host-loop';
import type { PairIndex } from './pair-index';

type ResultName = 'output' | 'weights' | 'logSumExp';
type Shape4 = [number, number, number, number];

/**
 * Which pairs are visible: 1, or 0 where what is added to their score is -Infinity.
 *
 * @param added broadcasts to the shape; absent: all are visible
 * @returns [b, hq, rows, keys]
 */
export function visiblePairs(shape: Shape4, added: tf.Tensor4D | undefined): tf.Tensor4D {
  if (!added) return tf.ones(shape);
  return tf.add(tf.zeros(shape), tf.cast(tf.notEqual(added, constant(-Infinity)), 'float32'));
}

/**
 * True for rows of which the loss uses a result, by the gradients of the results.
 *
 * @returns [b, hq, rows, 1]
 */
export function isUsed({
  output,
  weights,
  logSumExp,
}: Partial<Record<ResultName, tf.Tensor4D>>): tf.Tensor4D {
  const gradients = [output, weights, logSumExp].filter((x): x is tf.Tensor4D => x !== undefined);
  const used = gradients.map((x) => tf.any<tf.Tensor4D>(tf.notEqual(x, 0), 3, true));
  return used.reduce((some, rows) => tf.logicalOr(some, rows));
}

/** x with 0 for each hidden pair; x itself where no care is needed. */
export function zeroHidden(x: tf.Tensor4D, visible: tf.Tensor4D | undefined): tf.Tensor4D {
  if (!visible) return x;
  return computeOnHost<tf.Rank.R4>([x, visible], x.shape, ([numbers, isVisible], result) => {
    for (let n = 0; n < result.length; n++) if (isVisible![n] !== 0) result[n] = numbers![n]!;
  });
}

/** x with 0 in place of NaN and Infinity. */
export function finitePart<T extends tf.Tensor>(x: T): T {
  return computeOnHost([x], x.shape, ([numbers], result) => {
    for (let n = 0; n < result.length; n++) if (Number.isFinite(numbers![n])) result[n] = numbers![n]!;
  }) as T;
}

/** Rows of numbers of which each pair of a block reads one. */
interface RowsOfPairs {
  readonly from: tf.Tensor4D; // [.., .., n, Dv]
  /** Which of all rows of `from` the pair of output row `row` and key `column` reads; none: -1. */
  readonly rowOf: (row: number, column: number) => number;
}

/**
 * The output with what its rows see of values that are not finite.
 *
 * @param output [b, hq, rows, Dv], of the finite parts of the values
 * @param value [b, hkv, keys, Dv]
 * @param visible [b, hq, rows, keys]
 */
export function addNonFiniteValues(
  output: tf.Tensor4D,
  value: tf.Tensor4D,
  visible: tf.Tensor4D,
): tf.Tensor4D {
  const [, hq, rows, keys] = visible.shape;
  const rowsOfGroup = (hq / value.shape[1]) * rows;
  const rowOf = (row: number, column: number) => Math.floor(row / rowsOfGroup) * keys + column;
  return addNonFinite(output, { from: value, rowOf }, visible);
}

/**
 * The same for a table of values.
 *
 * @param table [b, 1 | hq, R, Dv]
 */
export function addNonFiniteTable(
  output: tf.Tensor4D,
  { table, index }: { readonly table: tf.Tensor4D; readonly index: PairIndex },
  visible: tf.Tensor4D,
): tf.Tensor4D {
  const [, hq, rows] = visible.shape;
  const { batch, columns, size, at } = index;
  const rowsOfTable = table.shape[1] === 1 ? hq * rows : rows;
  const rowOf = (row: number, column: number) => {
    const entry = batch === 1 ? 0 : Math.floor(row / (hq * rows));
    const distance = at[(entry * rows + (row % rows)) * columns + column]!;
    return distance < size ? Math.floor(row / rowsOfTable) * size + distance : -1;
  };
  return addNonFinite(output, { from: table, rowOf }, visible);
}

function addNonFinite(output: tf.Tensor4D, { from, rowOf }: RowsOfPairs, visible: tf.Tensor4D): tf.Tensor4D {
  const [Dv, keys] = [from.shape[3], visible.shape[3]];
  return computeOnHost<tf.Rank.R4>([output, from, visible], output.shape, ([sums, x, isVisible], result) => {
    result.set(sums!);
    const spoiled = Uint8Array.from({ length: x!.length / Dv }, (_, row) =>
      Number(!x!.subarray(row * Dv, (row + 1) * Dv).every(Number.isFinite)),
    );
    if (!spoiled.includes(1)) return;
    for (let pair = 0; pair < isVisible!.length; pair++) {
      const row = Math.floor(pair / keys);
      const read = rowOf(row, pair % keys);
      if (isVisible![pair] === 0 || spoiled[read] !== 1) continue;
      for (let d = 0; d < Dv; d++) {
        const number = x![read * Dv + d]!;
        if (!Number.isFinite(number)) result[row * Dv + d]! += number;
      }
    }
  });
}
