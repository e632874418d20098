// Products of a few rows, whose weights are read once, where they lie: nothing is packed.
import { Product } from './call';
import { madd, sumOf } from './simd';

/** So many rows at most: of more, tiles are faster, though what they read must be packed. */
const FEW_ROWS: i32 = 8;
const FEW_ROWS_OF_TABLE: i32 = 3;
/** Sums of one row that stay in a first cache of 32 KiB while weights stream through it. */
const CACHED: usize = 8192;

export function isOfFewRows(product: Product): bool {
  return product.format === 0 && product.leftTerm === 4 && product.rows <= (product.rightTerm === 4 ? FEW_ROWS_OF_TABLE : FEW_ROWS);
}

/** The columns [from, to) of a product of few rows. */
export function multiplyFewRows(product: Product, from: i32, to: i32): void {
  if (product.rightTerm === 4) dotColumns(product, from, to);
  else addTerms(product, from, to);
}

/** Each column lies as a row of a table: products of two rows. */
function dotColumns(product: Product, from: i32, to: i32): void {
  const terms = product.terms;
  const bias = product.bias;
  const step = (product.columns as usize) << 2;
  for (let column = from; column < to; column++) {
    const weights = product.right + (column as usize) * product.rightColumn;
    const at = (column as usize) << 2;
    for (let row: usize = 0; row < (product.rows as usize); row++) {
      const sum = dot(product.left + row * product.leftRow, weights, terms);
      store<f32>(product.to + row * step + at, bias ? sum + load<f32>(bias + at) : sum);
    }
  }
}

function dot(x: usize, y: usize, count: i32): f32 {
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  const end = x + ((count as usize) << 2);
  for (; x + 64 <= end; x += 64, y += 64) {
    s0 = madd(v128.load(x), v128.load(y), s0);
    s1 = madd(v128.load(x, 16), v128.load(y, 16), s1);
    s2 = madd(v128.load(x, 32), v128.load(y, 32), s2);
    s3 = madd(v128.load(x, 48), v128.load(y, 48), s3);
  }
  for (; x + 16 <= end; x += 16, y += 16) s0 = madd(v128.load(x), v128.load(y), s0);
  let sum = sumOf(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)));
  for (; x < end; x += 4, y += 4) sum += load<f32>(x) * load<f32>(y);
  return sum;
}

/**
 * Each term adds a row of the weights. Read one by one they come from memory as fast as it gives them, and sums in the first
 * cache cost little; where there are too many for it, or several rows, terms are taken together.
 */
function addTerms(product: Product, from: i32, to: i32): void {
  const step = (product.columns as usize) << 2;
  const bytes = ((to - from) as usize) << 2;
  const sums = product.to + ((from as usize) << 2);
  for (let row: usize = 0; row < (product.rows as usize); row++) {
    if (product.bias) memory.copy(sums + row * step, product.bias + ((from as usize) << 2), bytes);
    else memory.fill(sums + row * step, 0, bytes);
  }
  const together = product.rows > 1 ? 4 : bytes > CACHED ? 8 : 1;
  const weightStep = product.rightTerm;
  let weights = product.right + ((from as usize) << 2);
  let x = product.left;
  let term = 0;
  for (; term + together <= product.terms; term += together, x += (together as usize) << 2) {
    if (together === 8) addEight(x, weights, weightStep, sums, bytes);
    else if (together === 4) addFour(product, x, weights, sums, bytes);
    else addOne(load<f32>(x), weights, sums, bytes);
    weights += (together as usize) * weightStep;
  }
  for (; term < product.terms; term++, x += 4, weights += weightStep) {
    for (let row: usize = 0; row < (product.rows as usize); row++) {
      addOne(load<f32>(x + row * product.leftRow), weights, sums + row * step, bytes);
    }
  }
}

function addOne(x: f32, weights: usize, sums: usize, bytes: usize): void {
  const end = sums + bytes;
  const splat = f32x4.splat(x);
  for (; sums + 64 <= end; sums += 64, weights += 64) {
    v128.store(sums, madd(splat, v128.load(weights), v128.load(sums)));
    v128.store(sums, madd(splat, v128.load(weights, 16), v128.load(sums, 16)), 16);
    v128.store(sums, madd(splat, v128.load(weights, 32), v128.load(sums, 32)), 32);
    v128.store(sums, madd(splat, v128.load(weights, 48), v128.load(sums, 48)), 48);
  }
  for (; sums < end; sums += 4, weights += 4) store<f32>(sums, load<f32>(sums) + x * load<f32>(weights));
}

/** Eight terms of one row. Exported by the module, so that it stays a function: inlined, it is slower. */
export function addEight(x: usize, weights: usize, step: usize, sums: usize, bytes: usize): void {
  const end = sums + bytes;
  const x0 = v128.load32_splat(x);
  const x1 = v128.load32_splat(x, 4);
  const x2 = v128.load32_splat(x, 8);
  const x3 = v128.load32_splat(x, 12);
  const x4 = v128.load32_splat(x, 16);
  const x5 = v128.load32_splat(x, 20);
  const x6 = v128.load32_splat(x, 24);
  const x7 = v128.load32_splat(x, 28);
  let w0 = weights;
  let w1 = w0 + step;
  let w2 = w1 + step;
  let w3 = w2 + step;
  let w4 = w3 + step;
  let w5 = w4 + step;
  let w6 = w5 + step;
  let w7 = w6 + step;
  for (; sums + 32 <= end; sums += 32) {
    let a = madd(x0, v128.load(w0), v128.load(sums));
    let b = madd(x0, v128.load(w0, 16), v128.load(sums, 16));
    a = madd(x1, v128.load(w1), a);
    b = madd(x1, v128.load(w1, 16), b);
    a = madd(x2, v128.load(w2), a);
    b = madd(x2, v128.load(w2, 16), b);
    a = madd(x3, v128.load(w3), a);
    b = madd(x3, v128.load(w3, 16), b);
    a = madd(x4, v128.load(w4), a);
    b = madd(x4, v128.load(w4, 16), b);
    a = madd(x5, v128.load(w5), a);
    b = madd(x5, v128.load(w5, 16), b);
    a = madd(x6, v128.load(w6), a);
    b = madd(x6, v128.load(w6, 16), b);
    v128.store(sums, madd(x7, v128.load(w7), a));
    v128.store(sums, madd(x7, v128.load(w7, 16), b), 16);
    w0 += 32;
    w1 += 32;
    w2 += 32;
    w3 += 32;
    w4 += 32;
    w5 += 32;
    w6 += 32;
    w7 += 32;
  }
  for (; sums < end; sums += 4, w0 += 4) {
    let sum = load<f32>(sums);
    let w = w0;
    for (let n: usize = 0; n < 32; n += 4, w += step) sum += load<f32>(x + n) * load<f32>(w);
    store<f32>(sums, sum);
  }
}

/** Four terms of some rows: eight columns of the weights stay in registers while all rows take them. Exported as `addEight`. */
export function addFour(product: Product, x: usize, weights: usize, sums: usize, bytes: usize): void {
  const rows = product.rows;
  const leftRow = product.leftRow;
  const weightStep = product.rightTerm;
  const step = (product.columns as usize) << 2;
  const end = sums + bytes;
  for (; sums + 32 <= end; sums += 32, weights += 32) {
    let w = weights;
    const a0 = v128.load(w);
    const b0 = v128.load(w, 16);
    const a1 = v128.load((w += weightStep));
    const b1 = v128.load(w, 16);
    const a2 = v128.load((w += weightStep));
    const b2 = v128.load(w, 16);
    const a3 = v128.load((w += weightStep));
    const b3 = v128.load(w, 16);
    let at = x;
    let to = sums;
    for (let row = 0; row < rows; row++, at += leftRow, to += step) {
      const x0 = v128.load32_splat(at);
      let a = madd(x0, a0, v128.load(to));
      let b = madd(x0, b0, v128.load(to, 16));
      const x1 = v128.load32_splat(at, 4);
      a = madd(x1, a1, a);
      b = madd(x1, b1, b);
      const x2 = v128.load32_splat(at, 8);
      a = madd(x2, a2, a);
      b = madd(x2, b2, b);
      const x3 = v128.load32_splat(at, 12);
      v128.store(to, madd(x3, a3, a));
      v128.store(to, madd(x3, b3, b), 16);
    }
  }
  for (; sums < end; sums += 4, weights += 4) {
    let at = x;
    let to = sums;
    for (let row = 0; row < rows; row++, at += leftRow, to += step) {
      let sum = load<f32>(to);
      let w = weights;
      for (let n: usize = 0; n < 16; n += 4, w += weightStep) sum += load<f32>(at + n) * load<f32>(w);
      store<f32>(to, sum);
    }
  }
}
