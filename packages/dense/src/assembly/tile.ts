// The product in which the time goes: a few rows by eight columns stay in registers while terms are added.
import { madd } from './simd';

/** Rows of a tile. Where a product and a sum are two steps, a register more is needed. */
export const TILE_ROWS: i32 = isDefined(RELAXED) ? 6 : 4;

/** Columns of a tile. */
export const TILE_COLUMNS: i32 = 8;

/**
 * `to[row][column] = start[column] + Σ rows[term][row] · panel[term][column]`, six rows by eight columns. Exported by the
 * module, so that it stays a function: inlined, or with the start added at the end, its sums do not stay in registers, and it
 * is half as fast.
 *
 * @param rows [terms, 6], packed
 * @param panel [terms, 8], packed
 * @param start [8]
 * @param step bytes from one row of the result to the next
 */
export function sixRows(
  rows: usize,
  panel: usize,
  terms: i32,
  start: usize,
  to: usize,
  step: usize,
): void {
  let r00 = v128.load(start);
  let r01 = v128.load(start, 16);
  let r10 = r00;
  let r11 = r01;
  let r20 = r00;
  let r21 = r01;
  let r30 = r00;
  let r31 = r01;
  let r40 = r00;
  let r41 = r01;
  let r50 = r00;
  let r51 = r01;
  for (const end = panel + ((terms as usize) << 5); panel < end; ) {
    const b0 = v128.load(panel);
    const b1 = v128.load(panel, 16);
    const s0 = v128.load32_splat(rows);
    r00 = madd(s0, b0, r00);
    r01 = madd(s0, b1, r01);
    const s1 = v128.load32_splat(rows, 4);
    r10 = madd(s1, b0, r10);
    r11 = madd(s1, b1, r11);
    const s2 = v128.load32_splat(rows, 8);
    r20 = madd(s2, b0, r20);
    r21 = madd(s2, b1, r21);
    const s3 = v128.load32_splat(rows, 12);
    r30 = madd(s3, b0, r30);
    r31 = madd(s3, b1, r31);
    const s4 = v128.load32_splat(rows, 16);
    r40 = madd(s4, b0, r40);
    r41 = madd(s4, b1, r41);
    const s5 = v128.load32_splat(rows, 20);
    r50 = madd(s5, b0, r50);
    r51 = madd(s5, b1, r51);
    rows += 24;
    panel += 32;
  }
  store(to, r00, r01);
  store((to += step), r10, r11);
  store((to += step), r20, r21);
  store((to += step), r30, r31);
  store((to += step), r40, r41);
  store(to + step, r50, r51);
}

/** As `sixRows`, four rows by eight columns. */
export function fourRows(
  rows: usize,
  panel: usize,
  terms: i32,
  start: usize,
  to: usize,
  step: usize,
): void {
  let r00 = v128.load(start);
  let r01 = v128.load(start, 16);
  let r10 = r00;
  let r11 = r01;
  let r20 = r00;
  let r21 = r01;
  let r30 = r00;
  let r31 = r01;
  for (const end = panel + ((terms as usize) << 5); panel < end; ) {
    const b0 = v128.load(panel);
    const b1 = v128.load(panel, 16);
    const s0 = v128.load32_splat(rows);
    r00 = madd(s0, b0, r00);
    r01 = madd(s0, b1, r01);
    const s1 = v128.load32_splat(rows, 4);
    r10 = madd(s1, b0, r10);
    r11 = madd(s1, b1, r11);
    const s2 = v128.load32_splat(rows, 8);
    r20 = madd(s2, b0, r20);
    r21 = madd(s2, b1, r21);
    const s3 = v128.load32_splat(rows, 12);
    r30 = madd(s3, b0, r30);
    r31 = madd(s3, b1, r31);
    rows += 16;
    panel += 32;
  }
  store(to, r00, r01);
  store((to += step), r10, r11);
  store((to += step), r20, r21);
  store(to + step, r30, r31);
}

@inline
function store(to: usize, r0: v128, r1: v128): void {
  v128.store(to, r0);
  v128.store(to, r1, 16);
}
