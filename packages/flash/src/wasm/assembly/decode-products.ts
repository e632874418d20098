// The same products where at most four query rows meet many keys, as in decoding: time goes into reading keys and values, so
// each number of them is read once, and numbers of a row are taken four at a time. Scores lie as in a panel.
import { madd, sums } from './simd';

/**
 * `to[key][row] = keys[key] · rows[row]` for four rows.
 *
 * @param rows [4, D]; D a multiple of 4
 */
export function keysTimesFour(
  keys: usize,
  keyStride: usize,
  count: i32,
  rows: usize,
  D: i32,
  to: usize,
): void {
  let key = 0;
  for (; key + 2 <= count; key += 2) {
    twoTimesFour(keys, keyStride, rows, D, to);
    keys += keyStride << 1;
    to += 64;
  }
  if (key < count) twoTimesFour(keys, 0, rows, D, to); // the last key twice: there is space for a second
}

@inline
function twoTimesFour(keys: usize, keyStride: usize, rows: usize, D: i32, to: usize): void {
  const bytes = (D as usize) << 2;
  let row1 = rows + bytes;
  let row2 = row1 + bytes;
  let row3 = row2 + bytes;
  let other = keys + keyStride;
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let b0 = a0;
  let b1 = a0;
  let b2 = a0;
  let b3 = a0;
  for (const end = rows + bytes; rows < end; rows += 16) {
    const a = v128.load(keys);
    const b = v128.load(other);
    const q0 = v128.load(rows);
    a0 = madd(a, q0, a0);
    b0 = madd(b, q0, b0);
    const q1 = v128.load(row1);
    a1 = madd(a, q1, a1);
    b1 = madd(b, q1, b1);
    const q2 = v128.load(row2);
    a2 = madd(a, q2, a2);
    b2 = madd(b, q2, b2);
    const q3 = v128.load(row3);
    a3 = madd(a, q3, a3);
    b3 = madd(b, q3, b3);
    keys += 16;
    other += 16;
    row1 += 16;
    row2 += 16;
    row3 += 16;
  }
  v128.store(to, sums(a0, a1, a2, a3));
  v128.store(to, sums(b0, b1, b2, b3), 32);
}

/** `to[key][0] = keys[key] · row`; D a multiple of 4. */
export function keysTimesOne(keys: usize, keyStride: usize, count: i32, row: usize, D: i32, to: usize): void {
  let key = 0;
  for (; key + 8 <= count; key += 8) {
    fourTimesOne(keys, keyStride, row, D, to);
    fourTimesOne(keys + (keyStride << 2), keyStride, row, D, to + 128);
    keys += keyStride << 3;
    to += 256;
  }
  for (; key < count; key++) {
    let sum = f32x4.splat(0);
    for (let at: usize = 0; at < (D as usize) << 2; at += 16) {
      sum = madd(v128.load(keys + at), v128.load(row + at), sum);
    }
    v128.store(to, sums(sum, sum, sum, sum));
    keys += keyStride;
    to += 32;
  }
}

@inline
function fourTimesOne(keys: usize, keyStride: usize, row: usize, D: i32, to: usize): void {
  let key1 = keys + keyStride;
  let key2 = key1 + keyStride;
  let key3 = key2 + keyStride;
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  for (const end = row + ((D as usize) << 2); row < end; row += 16) {
    const q = v128.load(row);
    sum0 = madd(v128.load(keys), q, sum0);
    sum1 = madd(v128.load(key1), q, sum1);
    sum2 = madd(v128.load(key2), q, sum2);
    sum3 = madd(v128.load(key3), q, sum3);
    keys += 16;
    key1 += 16;
    key2 += 16;
    key3 += 16;
  }
  const products = sums(sum0, sum1, sum2, sum3);
  v128.store32_lane(to, products, 0);
  v128.store32_lane(to, products, 1, 32);
  v128.store32_lane(to, products, 2, 64);
  v128.store32_lane(to, products, 3, 96);
}

/** `to = factor · to + Σ weights[key][0] · values[key]`; columns a multiple of 8. */
export function addWeightedToOne(
  weights: usize,
  values: usize,
  valueStride: usize,
  count: i32,
  factor: v128,
  to: usize,
  columns: i32,
): void {
  let column = 0;
  for (; column + 32 <= columns; column += 32) {
    thirtyTwoColumns(weights, values, valueStride, count, factor, to);
    values += 128;
    to += 128;
  }
  for (; column < columns; column += 8) {
    let sum0 = f32x4.splat(0);
    let sum1 = sum0;
    let value = values;
    for (let key = 0; key < count; key++, value += valueStride) {
      const weight = v128.load32_splat(weights + ((key as usize) << 5));
      sum0 = madd(weight, v128.load(value), sum0);
      sum1 = madd(weight, v128.load(value, 16), sum1);
    }
    v128.store(to, madd(v128.load(to), factor, sum0));
    v128.store(to, madd(v128.load(to, 16), factor, sum1), 16);
    values += 32;
    to += 32;
  }
}

@inline
function thirtyTwoColumns(
  weights: usize,
  values: usize,
  valueStride: usize,
  count: i32,
  factor: v128,
  to: usize,
): void {
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  let sum4 = sum0;
  let sum5 = sum0;
  let sum6 = sum0;
  let sum7 = sum0;
  for (let key = 0; key < count; key++) {
    const weight = v128.load32_splat(weights);
    sum0 = madd(weight, v128.load(values), sum0);
    sum1 = madd(weight, v128.load(values, 16), sum1);
    sum2 = madd(weight, v128.load(values, 32), sum2);
    sum3 = madd(weight, v128.load(values, 48), sum3);
    sum4 = madd(weight, v128.load(values, 64), sum4);
    sum5 = madd(weight, v128.load(values, 80), sum5);
    sum6 = madd(weight, v128.load(values, 96), sum6);
    sum7 = madd(weight, v128.load(values, 112), sum7);
    weights += 32;
    values += valueStride;
  }
  v128.store(to, madd(v128.load(to), factor, sum0));
  v128.store(to, madd(v128.load(to, 16), factor, sum1), 16);
  v128.store(to, madd(v128.load(to, 32), factor, sum2), 32);
  v128.store(to, madd(v128.load(to, 48), factor, sum3), 48);
  v128.store(to, madd(v128.load(to, 64), factor, sum4), 64);
  v128.store(to, madd(v128.load(to, 80), factor, sum5), 80);
  v128.store(to, madd(v128.load(to, 96), factor, sum6), 96);
  v128.store(to, madd(v128.load(to, 112), factor, sum7), 112);
}
