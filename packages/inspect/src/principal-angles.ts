// How far the subspaces of two heads are apart: what their matrices span.
import { ShapeError } from '@polyhead/core';

/** `rows[i][j]`, a matrix as numbers. */
export type Matrix = readonly (readonly number[])[];

/**
 * The principal angles between the column spaces of two matrices, in radians, the smallest first: 0 for a direction that both
 * have, π / 2 for one that the other has not (Jordan 1875; Björck and Golub 1973). Of heads: columns of the query's kernel
 * [E, D] are what a head looks for, columns of the transposed rows of the output's [E, Dv] what it writes.
 *
 * Two spaces that are drawn at random have a mean squared cosine of Db / E, where `b` has the more directions.
 *
 * @param a [E, Da]
 * @param b [E, Db]
 * @returns as many as the smaller space has directions; columns that depend on others count once
 * @throws ShapeError unless both have as many rows
 * @example
 * principalAngles([[1], [0]], [[1], [1]]); // [0.785]: 45°
 */
export function principalAngles(a: Matrix, b: Matrix): number[] {
  checkMatrices(a, b);
  const [small, large] = [orthonormalColumns(a), orthonormalColumns(b)].sort((p, q) => p.length - q.length);
  // [small, large]: cosines of the angles are its singular values.
  const products = small!.map((u) => large!.map((v) => dot(u, v)));
  return singularValues(products)
    .map((cosine) => Math.acos(Math.min(1, cosine)))
    .sort((x, y) => x - y);
}

const dot = (u: ArrayLike<number>, v: ArrayLike<number>) => {
  let sum = 0;
  for (let i = 0; i < u.length; i++) sum += u[i]! * v[i]!;
  return sum;
};

/** Gram–Schmidt, twice, which is enough (Kahan); what is left of a dependent column is rounding, and no direction. */
function orthonormalColumns(matrix: Matrix): Float64Array[] {
  const basis: Float64Array[] = [];
  for (let column = 0; column < matrix[0]!.length; column++) {
    const v = Float64Array.from(matrix, (row) => row[column]!);
    const before = Math.sqrt(dot(v, v));
    for (let pass = 0; pass < 2; pass++)
      for (const u of basis) {
        const share = dot(u, v);
        for (let i = 0; i < v.length; i++) v[i]! -= share * u[i]!;
      }
    const norm = Math.sqrt(dot(v, v));
    if (norm > 1e-6 * before) basis.push(v.map((x) => x / norm)); // float32 weights have 7 digits
  }
  return basis;
}

/** Of the rows of a matrix, by turning two at a time until all are orthogonal (one-sided Jacobi, Hestenes 1958). */
function singularValues(matrix: readonly (readonly number[])[]): number[] {
  const rows = matrix.map((row) => Float64Array.from(row));
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let p = 0; p < rows.length; p++)
      for (let q = p + 1; q < rows.length; q++) turned = turn(rows[p]!, rows[q]!) || turned;
  }
  return rows.map((row) => Math.sqrt(dot(row, row)));
}

/** @returns whether they were not orthogonal yet */
function turn(u: Float64Array, v: Float64Array): boolean {
  const [a, b, c] = [dot(u, u), dot(v, v), dot(u, v)];
  if (Math.abs(c) <= 1e-13 * Math.sqrt(a * b) || Math.abs(c) < 1e-30) return false;
  const half = (b - a) / (2 * c);
  const tangent = Math.sign(half || 1) / (Math.abs(half) + Math.sqrt(1 + half * half));
  const cosine = 1 / Math.sqrt(1 + tangent * tangent);
  const sine = cosine * tangent;
  for (let i = 0; i < u.length; i++) {
    const [x, y] = [u[i]!, v[i]!];
    u[i] = cosine * x - sine * y;
    v[i] = sine * x + cosine * y;
  }
  return true;
}

function checkMatrices(a: Matrix, b: Matrix): void {
  const isMatrix = (matrix: Matrix) =>
    Array.isArray(matrix) && matrix.length > 0 && matrix.every((row) => row?.length === matrix[0]!.length);
  if (isMatrix(a) && isMatrix(b) && a.length === b.length && a[0]!.length > 0 && b[0]!.length > 0) return;
  throw new ShapeError('principalAngles', 'a and b must be numbers [E, Da] and [E, Db], none of them 0', {
    '[E, Da]': [a?.length, a?.[0]?.length],
    '[E, Db]': [b?.length, b?.[0]?.length],
  });
}
