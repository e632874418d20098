// The products in which the time goes. Scores of a panel of eight query rows lie key by key, [keys, 8], so that softmax
// works on rows side by side and weights are ready to be multiplied with values. Four rows by eight columns stay in
// registers: twice four would not fit beside the operands.
import { madd } from './simd';

/** `to[key][row] = keys[key] · panel[row]` for eight rows. */
export function keysTimesPanel(
  keys: usize,
  keyStride: usize,
  count: i32,
  panel: usize,
  D: i32,
  to: usize,
): void {
  let key = 0;
  for (; key + 4 <= count; key += 4) {
    fourTimesPanel(keys, keyStride, panel, D, to);
    keys += keyStride << 2;
    to += 128;
  }
  for (; key < count; key++) {
    oneTimesPanel(keys, panel, D, to);
    keys += keyStride;
    to += 32;
  }
}

@inline
function fourTimesPanel(a: usize, stride: usize, panel: usize, D: i32, to: usize): void {
  let a0 = a;
  let a1 = a0 + stride;
  let a2 = a1 + stride;
  let a3 = a2 + stride;
  let r00 = f32x4.splat(0);
  let r01 = r00;
  let r10 = r00;
  let r11 = r00;
  let r20 = r00;
  let r21 = r00;
  let r30 = r00;
  let r31 = r00;
  for (let d = 0; d < D; d++) {
    const b0 = v128.load(panel);
    const b1 = v128.load(panel, 16);
    const s0 = v128.load32_splat(a0);
    r00 = madd(s0, b0, r00);
    r01 = madd(s0, b1, r01);
    const s1 = v128.load32_splat(a1);
    r10 = madd(s1, b0, r10);
    r11 = madd(s1, b1, r11);
    const s2 = v128.load32_splat(a2);
    r20 = madd(s2, b0, r20);
    r21 = madd(s2, b1, r21);
    const s3 = v128.load32_splat(a3);
    r30 = madd(s3, b0, r30);
    r31 = madd(s3, b1, r31);
    a0 += 4;
    a1 += 4;
    a2 += 4;
    a3 += 4;
    panel += 32;
  }
  v128.store(to, r00);
  v128.store(to, r01, 16);
  v128.store(to, r10, 32);
  v128.store(to, r11, 48);
  v128.store(to, r20, 64);
  v128.store(to, r21, 80);
  v128.store(to, r30, 96);
  v128.store(to, r31, 112);
}

function oneTimesPanel(a: usize, panel: usize, D: i32, to: usize): void {
  let r0 = f32x4.splat(0);
  let r1 = r0;
  for (let d = 0; d < D; d++) {
    const s = v128.load32_splat(a);
    r0 = madd(s, v128.load(panel), r0);
    r1 = madd(s, v128.load(panel, 16), r1);
    a += 4;
    panel += 32;
  }
  v128.store(to, r0);
  v128.store(to, r1, 16);
}

/**
 * `to[row] = factors[row] · to[row] + Σ weights[key][row] · values[key]` for four rows of a panel.
 *
 * @param columns of values; a multiple of 8
 */
export function addWeighted(
  weights: usize,
  values: usize,
  valueStride: usize,
  count: i32,
  factors: usize,
  to: usize,
  columns: i32,
): void {
  const stride = (columns as usize) << 2;
  for (let column: usize = 0; column < stride; column += 32) {
    fourRows(weights, values + column, valueStride, count, factors, to + column, stride);
  }
}

@inline
function fourRows(
  weights: usize,
  values: usize,
  valueStride: usize,
  count: i32,
  factors: usize,
  to: usize,
  stride: usize,
): void {
  let r00 = f32x4.splat(0);
  let r01 = r00;
  let r10 = r00;
  let r11 = r00;
  let r20 = r00;
  let r21 = r00;
  let r30 = r00;
  let r31 = r00;
  for (let key = 0; key < count; key++) {
    const b0 = v128.load(values);
    const b1 = v128.load(values, 16);
    const s0 = v128.load32_splat(weights);
    r00 = madd(s0, b0, r00);
    r01 = madd(s0, b1, r01);
    const s1 = v128.load32_splat(weights, 4);
    r10 = madd(s1, b0, r10);
    r11 = madd(s1, b1, r11);
    const s2 = v128.load32_splat(weights, 8);
    r20 = madd(s2, b0, r20);
    r21 = madd(s2, b1, r21);
    const s3 = v128.load32_splat(weights, 12);
    r30 = madd(s3, b0, r30);
    r31 = madd(s3, b1, r31);
    weights += 32;
    values += valueStride;
  }
  addScaled(to, v128.load32_splat(factors), r00, r01);
  to += stride;
  addScaled(to, v128.load32_splat(factors, 4), r10, r11);
  to += stride;
  addScaled(to, v128.load32_splat(factors, 8), r20, r21);
  to += stride;
  addScaled(to, v128.load32_splat(factors, 12), r30, r31);
}

@inline
function addScaled(to: usize, factor: v128, r0: v128, r1: v128): void {
  v128.store(to, madd(v128.load(to), factor, r0));
  v128.store(to, madd(v128.load(to, 16), factor, r1), 16);
}

@inline
export function addTo(to: usize, r0: v128, r1: v128): void {
  v128.store(to, f32x4.add(v128.load(to), r0));
  v128.store(to, f32x4.add(v128.load(to, 16), r1), 16);
}

/** `to[n] += Σ weights[n][row] · rows[row]` for eight rows; columns a multiple of 8. */
export function addOuter(weights: usize, count: i32, rows: usize, columns: i32, to: usize): void {
  const bytes = (columns as usize) << 2;
  for (let n = 0; n < count; n++, weights += 32, to += bytes) {
    for (let column: usize = 0; column < bytes; column += 32) {
      let r0 = f32x4.splat(0);
      let r1 = r0;
      let b = rows + column;
      for (let row: usize = 0; row < 32; row += 4, b += bytes) {
        const s = v128.load32_splat(weights + row);
        r0 = madd(s, v128.load(b), r0);
        r1 = madd(s, v128.load(b, 16), r1);
      }
      addTo(to + column, r0, r1);
    }
  }
}
