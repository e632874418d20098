// Products of a few rows with weights in blocks. Rows become whole numbers of 16 bits, each 32 with a scale of their own: an
// error of 2^-16 of the largest of them, far below that of the weights. Then eight products are one instruction. Four columns
// share what is read of a row; a quarter of all apart, they are four streams of memory that run from end to end.
import { half, INT8, Q4_0, Q4_1, Q8_0 } from './blocks';
import { Product } from './call';
import { loadFour, madd, storeFour, sumsOf } from './simd';

/** So many rows at most: for more, blocks are widened to panels of floats. */
const FEW_ROWS: i32 = 4;

export function isOfFewRowsOfBlocks(product: Product): bool {
  return product.format !== 0 && product.rows <= FEW_ROWS;
}

@inline
function blocksOf(product: Product): i32 {
  return (product.terms + 31) >> 5;
}

/** Bytes that rows take as blocks: 64 of whole numbers, then their scale and their sum. */
const ROW_BLOCK: usize = 64;

export function workspaceOfBlocks(product: Product): usize {
  return (product.rows as usize) * (blocksOf(product) as usize) * (ROW_BLOCK + 8) + 128;
}

/** The rows as whole numbers, in a workspace. */
export function roundRows(product: Product, workspace: usize): void {
  const rowBytes = (blocksOf(product) as usize) * ROW_BLOCK;
  const facts = workspace + (product.rows as usize) * rowBytes; // scale and sum of each block
  const factBytes = (blocksOf(product) as usize) << 3;
  const last = facts + (product.rows as usize) * factBytes;
  for (let row: usize = 0; row < (product.rows as usize); row++) {
    const x = product.left + row * product.leftRow;
    roundRow(x, product.terms, product.format, workspace + row * rowBytes, facts + row * factBytes, last);
  }
}

/** The columns [from, to) of a product of few rows, which have been rounded. */
export function multiplyFewRowsOfBlocks(product: Product, workspace: usize, from: i32, to: i32): void {
  const blocks = blocksOf(product);
  const step = (product.columns as usize) << 2;
  const rowBytes = (blocks as usize) * ROW_BLOCK;
  const facts = workspace + (product.rows as usize) * rowBytes;
  const factBytes = (blocks as usize) << 3;
  const quarter = (to - from) >> 2;
  const whole = from + (quarter << 2);
  for (let column = from; column < to; column = column + 1 === from + quarter ? whole : column + 1) {
    // What is left of the columns, each as four times the same.
    const apart = column < whole ? quarter : 0;
    const at = (column as usize) << 2;
    const ahead = (apart as usize) << 2;
    const b = product.bias + at;
    const bias = product.bias ? loadFour(b, b + ahead, b + 2 * ahead, b + 3 * ahead) : f32x4.splat(0);
    for (let row: usize = 0; row < (product.rows as usize); row++) {
      const numbers = workspace + row * rowBytes;
      const sums = dotBlocks(product, column, apart, blocks, numbers, facts + row * factBytes);
      storeFour(product.to + row * step + at, ahead, f32x4.add(sums, bias));
    }
  }
}

/**
 * A row as whole numbers of 16 bits, with the scale of each 32, and their sum times what a weight of 0 begins at; zeros behind
 * its end. For blocks of 4 bits the numbers of each sixteen stand in another order, those of even places first: so four shifts
 * unpack a block.
 *
 * @param last 32 floats: the last block, filled up
 */
function roundRow(x: usize, terms: i32, format: i32, to: usize, facts: usize, last: usize): void {
  for (let left = terms; left > 0; left -= 32, x += 128, to += ROW_BLOCK, facts += 8) {
    if (left < 32) {
      memory.fill(last, 0, 128);
      memory.copy(last, x, (left as usize) << 2);
      x = last;
    }
    let most = f32x4.splat(0);
    for (let n: usize = 0; n < 128; n += 16) most = f32x4.max(most, f32x4.abs(v128.load(x + n)));
    most = f32x4.max(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1));
    const largest = max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1));
    const isFinite = largest < f32.MAX_VALUE; // else all is NaN, by the scale
    const steps = f32x4.splat(isFinite && largest > 0 ? 32767 / largest : 0);
    let sums = i32x4.splat(0);
    for (let n: usize = 0; n < 64; n += 32) {
      let low = roundEight(x + (n << 1), steps);
      let high = roundEight(x + (n << 1) + 32, steps);
      sums = i32x4.add(sums, i32x4.add(i32x4.dot_i16x8_s(low, i16x8.splat(1)), i32x4.dot_i16x8_s(high, i16x8.splat(1))));
      if (format === Q4_0 || format === Q4_1) {
        const even = v128.shuffle<i16>(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
        high = v128.shuffle<i16>(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
        low = even;
      }
      v128.store(to + n, low);
      v128.store(to + n, high, 16);
    }
    const sum = i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
    const scale: f32 = isFinite ? largest / 32767 : f32.NaN;
    store<f32>(facts, scale);
    store<f32>(facts, scale * (sum as f32) * (format === Q4_0 ? -8 : 1), 4);
  }
}

@inline
function roundEight(x: usize, steps: v128): v128 {
  const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(x), steps)));
  const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(x, 16), steps)));
  return i16x8.narrow_i32x4_s(low, high);
}

/** Four columns, so many apart, with a row of whole numbers. */
@inline
function dotBlocks(product: Product, column: i32, apart: i32, blocks: i32, x: usize, facts: usize): v128 {
  const at = product.right + (column as usize) * product.rightColumn;
  const ahead = (apart as usize) * product.rightColumn;
  if (product.format === INT8) return dotInt8(product, column, apart, blocks, x, facts);
  if (product.format === Q8_0) return dotQ8(at, ahead, blocks, x, facts);
  return product.format === Q4_0 ? dotQ40(at, ahead, blocks, x, facts) : dotQ41(at, ahead, blocks, x, facts);
}

// Exported by the module, so that they stay functions: inlined, they are slower.

export function dotInt8(product: Product, column: i32, apart: i32, blocks: i32, x: usize, facts: usize): v128 {
  const ahead = (apart as usize) * product.rightColumn;
  let a = product.right + (column as usize) * product.rightColumn;
  let b = a + ahead;
  let c = b + ahead;
  let d = c + ahead;
  let scales = product.scales + (column as usize) * product.scaleStep;
  const scaleStep = (apart as usize) * product.scaleStep;
  const perScale = product.blocksPerScale;
  let a0 = f32x4.splat(0);
  let b0 = a0;
  let c0 = a0;
  let d0 = a0;
  for (let block = 0, left = perScale; block < blocks; block++, x += ROW_BLOCK, facts += 8) {
    const x0 = v128.load(x);
    const x1 = v128.load(x, 16);
    const x2 = v128.load(x, 32);
    const x3 = v128.load(x, 48);
    const fact = load<f32>(facts);
    a0 = madd(dotBytes(a, x0, x1, x2, x3), f32x4.splat(load<f32>(scales) * fact), a0);
    b0 = madd(dotBytes(b, x0, x1, x2, x3), f32x4.splat(load<f32>(scales + scaleStep) * fact), b0);
    c0 = madd(dotBytes(c, x0, x1, x2, x3), f32x4.splat(load<f32>(scales + 2 * scaleStep) * fact), c0);
    d0 = madd(dotBytes(d, x0, x1, x2, x3), f32x4.splat(load<f32>(scales + 3 * scaleStep) * fact), d0);
    a += 32;
    b += 32;
    c += 32;
    d += 32;
    if (--left === 0) {
      left = perScale;
      scales += 4;
    }
  }
  return sumsOf(a0, b0, c0, d0);
}

export function dotQ8(a: usize, ahead: usize, blocks: i32, x: usize, facts: usize): v128 {
  let b = a + ahead;
  let c = b + ahead;
  let d = c + ahead;
  let a0 = f32x4.splat(0);
  let b0 = a0;
  let c0 = a0;
  let d0 = a0;
  for (let block = 0; block < blocks; block++, x += ROW_BLOCK, facts += 8) {
    const x0 = v128.load(x);
    const x1 = v128.load(x, 16);
    const x2 = v128.load(x, 32);
    const x3 = v128.load(x, 48);
    const fact = load<f32>(facts);
    a0 = madd(dotBytes(a + 2, x0, x1, x2, x3), f32x4.splat(half(a) * fact), a0);
    b0 = madd(dotBytes(b + 2, x0, x1, x2, x3), f32x4.splat(half(b) * fact), b0);
    c0 = madd(dotBytes(c + 2, x0, x1, x2, x3), f32x4.splat(half(c) * fact), c0);
    d0 = madd(dotBytes(d + 2, x0, x1, x2, x3), f32x4.splat(half(d) * fact), d0);
    a += 34;
    b += 34;
    c += 34;
    d += 34;
  }
  return sumsOf(a0, b0, c0, d0);
}

/** 32 numbers of 8 bits with as many of a row, as sums of four lanes. */
@inline
function dotBytes(at: usize, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const a = i32x4.dot_i16x8_s(v128.load8x8_s(at), x0);
  const b = i32x4.dot_i16x8_s(v128.load8x8_s(at, 8), x1);
  const c = i32x4.dot_i16x8_s(v128.load8x8_s(at, 16), x2);
  const d = i32x4.dot_i16x8_s(v128.load8x8_s(at, 24), x3);
  return f32x4.convert_i32x4_s(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)));
}

export function dotQ40(at: usize, ahead: usize, blocks: i32, x: usize, facts: usize): v128 {
  return dotQ4(at, ahead, 18, blocks, x, facts);
}

export function dotQ41(at: usize, ahead: usize, blocks: i32, x: usize, facts: usize): v128 {
  return dotQ4(at, ahead, 20, blocks, x, facts);
}

@inline
function dotQ4(a: usize, ahead: usize, bytes: usize, blocks: i32, x: usize, facts: usize): v128 {
  let b = a + ahead;
  let c = b + ahead;
  let d = c + ahead;
  let a0 = f32x4.splat(0);
  let b0 = a0;
  let c0 = a0;
  let d0 = a0;
  let ofAB = a0; // offsets, in lanes 1 and 3
  let ofCD = a0;
  const numbers = bytes - 16;
  for (let block = 0; block < blocks; block++, x += ROW_BLOCK, facts += 8) {
    const x0 = v128.load(x);
    const x1 = v128.load(x, 16);
    const x2 = v128.load(x, 32);
    const x3 = v128.load(x, 48);
    const fact = v128.load64_splat(facts);
    const ab = f32x4.mul(scalesOf(a, b, bytes), fact);
    a0 = madd(dotHalves(a + numbers, x0, x1, x2, x3), v128.shuffle<i32>(ab, ab, 0, 0, 0, 0), a0);
    b0 = madd(dotHalves(b + numbers, x0, x1, x2, x3), v128.shuffle<i32>(ab, ab, 2, 2, 2, 2), b0);
    const cd = f32x4.mul(scalesOf(c, d, bytes), fact);
    c0 = madd(dotHalves(c + numbers, x0, x1, x2, x3), v128.shuffle<i32>(cd, cd, 0, 0, 0, 0), c0);
    d0 = madd(dotHalves(d + numbers, x0, x1, x2, x3), v128.shuffle<i32>(cd, cd, 2, 2, 2, 2), d0);
    ofAB = f32x4.add(ofAB, ab);
    ofCD = f32x4.add(ofCD, cd);
    a += bytes;
    b += bytes;
    c += bytes;
    d += bytes;
  }
  return f32x4.add(sumsOf(a0, b0, c0, d0), v128.shuffle<i32>(ofAB, ofCD, 1, 3, 5, 7));
}

/** 32 numbers of 4 bits with as many of a row in the order of `roundRow`, as sums of four lanes. */
@inline
function dotHalves(at: usize, x0: v128, x1: v128, x2: v128, x3: v128): v128 {
  const fifteen = i16x8.splat(15);
  const all = v128.load(at);
  const a = i32x4.dot_i16x8_s(v128.and(all, fifteen), x0);
  const b = i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(all, 8), fifteen), x1);
  const c = i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(all, 4), fifteen), x2);
  const d = i32x4.dot_i16x8_s(i16x8.shr_u(all, 12), x3);
  return f32x4.convert_i32x4_s(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)));
}

/** d and m of two blocks, or d twice where there is no m: float16 as float32, see `half`. */
@inline
function scalesOf(a: usize, b: usize, bytes: usize): v128 {
  const halves =
    bytes === 20
      ? v128.load32_lane(b, v128.load32_zero(a), 1)
      : v128.shuffle<i32>(v128.load16_splat(a), v128.load16_splat(b), 0, 4, 0, 4);
  const bits = v128.and(i32x4.shl(i32x4.extend_low_i16x8_s(halves), 13), i32x4.splat(0x8fffe000));
  return f32x4.mul(bits, i32x4.splat(0x77800000));
}
