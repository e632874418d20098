// The three loops in which all time goes: rows of a tile times one row, four at a time, in doubles.

/** Which rows of a tile take part. */
export interface Columns {
  readonly columns: Int32Array;
  readonly count: number;
}

/** Numbers of pairs, in the order of their columns. */
export interface OfPairs extends Columns {
  readonly numbers: Float64Array;
}

/** `to[n] = row · rows[columns[n]]` */
export function dots(
  row: Float64Array,
  rows: Float64Array,
  { columns, count }: Columns,
  to: Float64Array,
): void {
  const size = row.length;
  let n = 0;
  for (; n + 4 <= count; n += 4) {
    const [a, b] = [columns[n]! * size, columns[n + 1]! * size];
    const [c, d] = [columns[n + 2]! * size, columns[n + 3]! * size];
    let [sumA, sumB, sumC, sumD] = [0, 0, 0, 0];
    for (let i = 0; i < size; i++) {
      const x = row[i]!;
      sumA += x * rows[a + i]!;
      sumB += x * rows[b + i]!;
      sumC += x * rows[c + i]!;
      sumD += x * rows[d + i]!;
    }
    to[n] = sumA;
    to[n + 1] = sumB;
    to[n + 2] = sumC;
    to[n + 3] = sumD;
  }
  for (; n < count; n++) to[n] = dot(row, rows, columns[n]! * size);
}

/** `row · rows[at ...]`, in four sums: each would wait for its last addition. */
export function dot(row: Float64Array, rows: ArrayLike<number>, at: number): number {
  const size = row.length;
  let [sumA, sumB, sumC, sumD] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 4 <= size; i += 4) {
    sumA += row[i]! * rows[at + i]!;
    sumB += row[i + 1]! * rows[at + i + 1]!;
    sumC += row[i + 2]! * rows[at + i + 2]!;
    sumD += row[i + 3]! * rows[at + i + 3]!;
  }
  for (; i < size; i++) sumA += row[i]! * rows[at + i]!;
  return sumA + sumB + sumC + sumD;
}

/** `row += Σ weights[n] · rows[columns[n]]` */
export function addWeighted(
  row: Float64Array,
  rows: Float64Array,
  { columns, count }: Columns,
  weights: Float64Array,
): void {
  const size = row.length;
  let n = 0;
  for (; n + 4 <= count; n += 4) {
    const [a, b] = [columns[n]! * size, columns[n + 1]! * size];
    const [c, d] = [columns[n + 2]! * size, columns[n + 3]! * size];
    const [wa, wb, wc, wd] = [weights[n]!, weights[n + 1]!, weights[n + 2]!, weights[n + 3]!];
    for (let i = 0; i < size; i++) {
      row[i]! += wa * rows[a + i]! + wb * rows[b + i]! + wc * rows[c + i]! + wd * rows[d + i]!;
    }
  }
  for (; n < count; n++) addScaled(row, weights[n]!, rows, columns[n]! * size);
}

/** `row += weight · rows[at ...]` */
export function addScaled(row: Float64Array, weight: number, rows: ArrayLike<number>, at: number): void {
  for (let i = 0; i < row.length; i++) row[i]! += weight * rows[at + i]!;
}

/** `rows[columns[n]] += weights[n] · row` */
export function addToRows(
  rows: Float64Array,
  row: Float64Array,
  { columns, count }: Columns,
  weights: Float64Array,
): void {
  const size = row.length;
  let n = 0;
  for (; n + 4 <= count; n += 4) {
    const [a, b] = [columns[n]! * size, columns[n + 1]! * size];
    const [c, d] = [columns[n + 2]! * size, columns[n + 3]! * size];
    const [wa, wb, wc, wd] = [weights[n]!, weights[n + 1]!, weights[n + 2]!, weights[n + 3]!];
    for (let i = 0; i < size; i++) {
      const x = row[i]!;
      rows[a + i]! += wa * x;
      rows[b + i]! += wb * x;
      rows[c + i]! += wc * x;
      rows[d + i]! += wd * x;
    }
  }
  for (; n < count; n++) addRow(rows, columns[n]! * size, weights[n]!, row);
}

/** `rows[at ...] += weight · row` */
export function addRow(rows: Float64Array, at: number, weight: number, row: Float64Array): void {
  for (let i = 0; i < row.length; i++) rows[at + i]! += weight * row[i]!;
}
