// Products of a few rows, whose weights are read once, where they lie: nothing is packed. Of one row, and of tables, they are
// read as four streams, each from one end of its quarter to the other: memory runs ahead of each of them, where rows that
// follow each other, read side by side, would end one stream after the other.
import { Product } from './call';
import { loadFour, madd, storeFour, sumsOf } from './simd';

/** So many rows at most: of more, tiles are faster, though what they read must be packed. */
const FEW_ROWS: i32 = 8;
const FEW_ROWS_OF_TABLE: i32 = 3;

export function isOfFewRows(product: Product): bool {
  return product.format === 0 && product.leftTerm === 4 && product.rows <= (product.rightTerm === 4 ? FEW_ROWS_OF_TABLE : FEW_ROWS);
}

/** The columns [from, to) of a product of few rows. */
export function multiplyFewRows(product: Product, from: i32, to: i32): void {
  if (product.rightTerm === 4) dotColumns(product, from, to);
  else addTerms(product, from, to);
}

/** Each column lies as a row of a table: products of two rows, of four columns at a time. */
function dotColumns(product: Product, from: i32, to: i32): void {
  const quarter = (to - from) >> 2;
  let column = from;
  for (; column < from + quarter; column++) dotFour(product, column, quarter);
  // What is left, each as four times the same.
  for (column += 3 * quarter; column < to; column++) dotFour(product, column, 0);
}

/** Four columns, so many apart, with all rows. Exported by the module, so that it stays a function: inlined, it is slower. */
export function dotFour(product: Product, column: i32, apart: i32): void {
  const columnStep = product.rightColumn;
  const ahead = (apart as usize) * columnStep;
  const bias = product.bias;
  const at = (column as usize) << 2;
  const step = (apart as usize) << 2;
  for (let row: usize = 0; row < (product.rows as usize); row++) {
    let a = product.right + (column as usize) * columnStep;
    let b = a + ahead;
    let c = b + ahead;
    let d = c + ahead;
    let x = product.left + row * product.leftRow;
    const end = x + ((product.terms as usize) << 2);
    let a0 = f32x4.splat(0);
    let a1 = a0;
    let b0 = a0;
    let b1 = a0;
    let c0 = a0;
    let c1 = a0;
    let d0 = a0;
    let d1 = a0;
    for (; x + 32 <= end; x += 32, a += 32, b += 32, c += 32, d += 32) {
      const x0 = v128.load(x);
      const x1 = v128.load(x, 16);
      a0 = madd(x0, v128.load(a), a0);
      a1 = madd(x1, v128.load(a, 16), a1);
      b0 = madd(x0, v128.load(b), b0);
      b1 = madd(x1, v128.load(b, 16), b1);
      c0 = madd(x0, v128.load(c), c0);
      c1 = madd(x1, v128.load(c, 16), c1);
      d0 = madd(x0, v128.load(d), d0);
      d1 = madd(x1, v128.load(d, 16), d1);
    }
    let sums = sumsOf(f32x4.add(a0, a1), f32x4.add(b0, b1), f32x4.add(c0, c1), f32x4.add(d0, d1));
    for (; x < end; x += 4, a += 4, b += 4, c += 4, d += 4) {
      sums = madd(v128.load32_splat(x), loadFour(a, b, c, d), sums);
    }
    if (bias) sums = f32x4.add(sums, loadFour(bias + at, bias + at + step, bias + at + 2 * step, bias + at + 3 * step));
    storeFour(product.to + row * ((product.columns as usize) << 2) + at, step, sums);
  }
}

/** Each term adds a row of the weights, four of them at a time. */
function addTerms(product: Product, from: i32, to: i32): void {
  const step = (product.columns as usize) << 2;
  const bytes = ((to - from) as usize) << 2;
  const sums = product.to + ((from as usize) << 2);
  for (let row: usize = 0; row < (product.rows as usize); row++) {
    if (product.bias) memory.copy(sums + row * step, product.bias + ((from as usize) << 2), bytes);
    else memory.fill(sums + row * step, 0, bytes);
  }
  const weightStep = product.rightTerm;
  const quarter = product.terms >> 2;
  let weights = product.right + ((from as usize) << 2);
  let x = product.left;
  for (let n = 0; n < quarter; n++) {
    if (product.rows > 1) addFour(product, x, weights, sums, bytes);
    else addQuarters(x, quarter, weights, weightStep, sums, bytes);
    const taken: usize = product.rows > 1 ? 4 : 1;
    x += taken << 2;
    weights += taken * weightStep;
  }
  const left = quarter << 2;
  x = product.left + ((left as usize) << 2);
  weights = product.right + ((from as usize) << 2) + (left as usize) * weightStep;
  for (let term = left; term < product.terms; term++, x += 4, weights += weightStep) {
    for (let row: usize = 0; row < (product.rows as usize); row++) {
      addOne(load<f32>(x + row * product.leftRow), weights, sums + row * step, bytes);
    }
  }
}

function addOne(x: f32, weights: usize, sums: usize, bytes: usize): void {
  const end = sums + bytes;
  const splat = f32x4.splat(x);
  for (; sums + 16 <= end; sums += 16, weights += 16) {
    v128.store(sums, madd(splat, v128.load(weights), v128.load(sums)));
  }
  for (; sums < end; sums += 4, weights += 4) store<f32>(sums, load<f32>(sums) + x * load<f32>(weights));
}

/** Four terms of one row, a quarter of all apart. Exported as `dotFour`. */
export function addQuarters(x: usize, quarter: i32, weights: usize, step: usize, sums: usize, bytes: usize): void {
  const end = sums + bytes;
  const apart = (quarter as usize) << 2;
  const ahead = (quarter as usize) * step;
  const x0 = v128.load32_splat(x);
  const x1 = v128.load32_splat(x + apart);
  const x2 = v128.load32_splat(x + 2 * apart);
  const x3 = v128.load32_splat(x + 3 * apart);
  let w0 = weights;
  let w1 = w0 + ahead;
  let w2 = w1 + ahead;
  let w3 = w2 + ahead;
  for (; sums + 32 <= end; sums += 32, w0 += 32, w1 += 32, w2 += 32, w3 += 32) {
    const a = madd(x1, v128.load(w1), madd(x0, v128.load(w0), v128.load(sums)));
    const b = madd(x1, v128.load(w1, 16), madd(x0, v128.load(w0, 16), v128.load(sums, 16)));
    v128.store(sums, madd(x3, v128.load(w3), madd(x2, v128.load(w2), a)));
    v128.store(sums, madd(x3, v128.load(w3, 16), madd(x2, v128.load(w2, 16), b)), 16);
  }
  for (; sums < end; sums += 4, w0 += 4) {
    let sum = load<f32>(sums);
    let w = w0;
    for (let n: usize = 0; n < 4; n++, w += ahead) sum += load<f32>(x + n * apart) * load<f32>(w);
    store<f32>(sums, sum);
  }
}

/** Four terms of some rows: eight columns of the weights stay in registers while all rows take them. Exported as `dotFour`. */
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
