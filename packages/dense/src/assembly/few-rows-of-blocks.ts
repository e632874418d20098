// Products of a few rows with weights in blocks. Rows become whole numbers of 16 bits, each 32 with a scale of their own: an
// error of 2^-16 of the largest of them, far below that of the weights. Then eight products are one instruction, and weights
// are read as fast as memory gives them.
import { half, INT8, Q4_0, Q4_1, Q8_0 } from './blocks';
import { Product } from './call';
import { madd, sumOf } from './simd';

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
  return (product.rows as usize) * (blocksOf(product) as usize) * (ROW_BLOCK + 8);
}

/** The columns [from, to) of a product of few rows. */
export function multiplyFewRowsOfBlocks(product: Product, workspace: usize, from: i32, to: i32): void {
  const blocks = blocksOf(product);
  const step = (product.columns as usize) << 2;
  const rowBytes = (blocks as usize) * ROW_BLOCK;
  const facts = workspace + (product.rows as usize) * rowBytes; // scale and sum of each block
  const factBytes = (blocks as usize) << 3;
  for (let row: usize = 0; row < (product.rows as usize); row++) {
    const x = product.left + row * product.leftRow;
    roundRow(x, product.terms, product.format, workspace + row * rowBytes, facts + row * factBytes);
  }
  for (let column = from; column < to; column++) {
    const at = (column as usize) << 2;
    const bias: f32 = product.bias ? load<f32>(product.bias + at) : 0;
    for (let row: usize = 0; row < (product.rows as usize); row++) {
      const numbers = workspace + row * rowBytes;
      const sum = dotBlocks(product, column, blocks, numbers, facts + row * factBytes);
      store<f32>(product.to + row * step + at, sum + bias);
    }
  }
}

/**
 * A row as whole numbers of 16 bits, with the scale of each 32, and their sum times what a weight of 0 begins at; zeros behind its end. For blocks of 4 bits the
 * numbers of each sixteen stand in another order, those of even places first: so four shifts unpack a block.
 */
function roundRow(x: usize, terms: i32, format: i32, to: usize, facts: usize): void {
  for (let left = terms; left > 0; left -= 32, x += 128, to += ROW_BLOCK, facts += 8) {
    const count = min(left, 32);
    let largest: f32 = 0;
    for (let n = 0; n < count; n++) largest = max(largest, abs(load<f32>(x + (n << 2))));
    const isFinite = largest < f32.MAX_VALUE; // else all is NaN, by the scale
    const steps: f32 = isFinite && largest > 0 ? 32767 / largest : 0;
    let sum = 0;
    for (let n = 0; n < 32; n++) {
      const number: f32 = isFinite && n < count ? nearest(load<f32>(x + (n << 2)) * steps) : 0;
      const place = format === Q4_0 || format === Q4_1 ? (n & 16) + ((n & 1) << 3) + ((n & 15) >> 1) : n;
      store<i16>(to + (place << 1), (number as i32) as i16);
      sum += number as i32;
    }
    const scale: f32 = isFinite ? largest / 32767 : f32.NaN;
    store<f32>(facts, scale);
    store<f32>(facts, scale * (sum as f32) * (format === Q4_0 ? -8 : 1), 4);
  }
}

/** A column with a row of whole numbers. */
@inline
function dotBlocks(product: Product, column: i32, blocks: i32, numbers: usize, facts: usize): f32 {
  const at = product.right + (column as usize) * product.rightColumn;
  if (product.format === INT8) {
    return dotInt8(at, product.scales + (column as usize) * product.scaleStep, product.blocksPerScale, blocks, numbers, facts);
  }
  if (product.format === Q8_0) return dotQ8(at, blocks, numbers, facts);
  return dotQ4(at, product.format === Q4_1, blocks, numbers, facts);
}

@inline
function dotBytes(at: usize, x: usize): v128 {
  const a = i32x4.dot_i16x8_s(v128.load8x8_s(at), v128.load(x));
  const b = i32x4.dot_i16x8_s(v128.load8x8_s(at, 8), v128.load(x, 16));
  const c = i32x4.dot_i16x8_s(v128.load8x8_s(at, 16), v128.load(x, 32));
  const d = i32x4.dot_i16x8_s(v128.load8x8_s(at, 24), v128.load(x, 48));
  return f32x4.convert_i32x4_s(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)));
}

export function dotInt8(at: usize, scales: usize, perScale: i32, blocks: i32, x: usize, facts: usize): f32 {
  let sums = f32x4.splat(0);
  for (let block = 0, left = perScale; block < blocks; block++, at += 32, x += ROW_BLOCK, facts += 8) {
    const scale = load<f32>(scales) * load<f32>(facts);
    sums = madd(dotBytes(at, x), f32x4.splat(scale), sums);
    if (--left === 0) {
      left = perScale;
      scales += 4;
    }
  }
  return sumOf(sums);
}

export function dotQ8(at: usize, blocks: i32, x: usize, facts: usize): f32 {
  let sums = f32x4.splat(0);
  for (let block = 0; block < blocks; block++, at += 34, x += ROW_BLOCK, facts += 8) {
    sums = madd(dotBytes(at + 2, x), f32x4.splat(half(at) * load<f32>(facts)), sums);
  }
  return sumOf(sums);
}

export function dotQ4(at: usize, hasOffset: bool, blocks: i32, x: usize, facts: usize): f32 {
  let sums = f32x4.splat(0);
  let offsets = sums; // in the second lane
  const fifteen = i16x8.splat(15);
  const bytes: usize = hasOffset ? 20 : 18;
  for (let block = 0; block < blocks; block++, at += bytes, x += ROW_BLOCK, facts += 8) {
    const both = v128.load(at + bytes - 16);
    const a = i32x4.dot_i16x8_s(v128.and(both, fifteen), v128.load(x));
    const b = i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(both, 8), fifteen), v128.load(x, 16));
    const c = i32x4.dot_i16x8_s(v128.and(i16x8.shr_u(both, 4), fifteen), v128.load(x, 32));
    const d = i32x4.dot_i16x8_s(i16x8.shr_u(both, 12), v128.load(x, 48));
    const whole = f32x4.convert_i32x4_s(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)));
    // d and m, or d twice, times scale and sum of the row's block.
    const halves = hasOffset ? v128.load32_zero(at) : v128.load16_splat(at);
    const scales = f32x4.mul(widenHalves(halves), v128.load64_zero(facts));
    sums = madd(whole, v128.shuffle<i32>(scales, scales, 0, 0, 0, 0), sums);
    offsets = f32x4.add(offsets, scales);
  }
  return sumOf(sums) + f32x4.extract_lane(offsets, 1);
}

/** The first four float16 as float32; see `half`. */
@inline
function widenHalves(halves: v128): v128 {
  const bits = v128.and(i32x4.shl(i32x4.extend_low_i16x8_s(halves), 13), i32x4.splat(0x8fffe000));
  return f32x4.mul(bits, i32x4.splat(0x77800000));
}
