// Rows of 8- and 4-bit numbers as floats. Words hold numbers from their low bits up. A number n is scale · n, n with a sign;
// with a zero it is zero + scale · n, n without. A scale serves `rowsPerScale` rows, and each of its columns an equal part of
// a row. Rows as caches write them go sixteen numbers at a time: 8 bits with a sign and one scale, 4 bits without a sign and
// scales of 16 numbers or more, or of each number.
import { Matrix } from './call';
import { madd } from './simd';

/** @param at where the row's words begin */
export function unpackRow(matrix: Matrix, at: usize, row: i32, size: i32, to: usize): void {
  const scales = (((row / matrix.rowsPerScale) * matrix.scaleColumns) as usize) << 2;
  const scale = matrix.scale + scales;
  let done = 0;
  if (matrix.bits === 8 && matrix.zero === 0 && matrix.scaleColumns === 1) {
    done = unpackBytes(at, size & ~15, load<f32>(scale), to);
  } else if (matrix.bits === 4 && matrix.zero !== 0) {
    const zero = matrix.zero + scales;
    if (matrix.scaleColumns === size) done = unpackByChannel(at, size & ~15, scale, zero, to);
    else if (size % (matrix.scaleColumns << 4) === 0)
      done = unpackInParts(at, size, size / matrix.scaleColumns, scale, zero, to);
  }
  for (let n = done; n < size; n++) unpackNumber(matrix, at, n, size, scales, to + ((n as usize) << 2));
}

/** One scale. @returns count */
function unpackBytes(at: usize, count: i32, scale: f32, to: usize): i32 {
  const factor = f32x4.splat(scale);
  for (const end = at + (count as usize); at < end; at += 16, to += 64) {
    const bytes = v128.load(at);
    const low = i16x8.extend_low_i8x16_s(bytes);
    const high = i16x8.extend_high_i8x16_s(bytes);
    v128.store(to, f32x4.mul(factor, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low))));
    v128.store(to, f32x4.mul(factor, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low))), 16);
    v128.store(to, f32x4.mul(factor, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high))), 32);
    v128.store(to, f32x4.mul(factor, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high))), 48);
  }
  return count;
}

/** A scale and a zero for each `part` numbers, a multiple of 16. @returns count */
function unpackInParts(at: usize, count: i32, part: i32, scale: usize, zero: usize, to: usize): i32 {
  for (let n = 0; n < count; n += part, scale += 4, zero += 4) {
    const factor = v128.load32_splat(scale);
    const start = v128.load32_splat(zero);
    for (let i = 0; i < part; i += 16, at += 8, to += 64) {
      const bytes = sixteen(at);
      const low = i16x8.extend_low_i8x16_u(bytes);
      const high = i16x8.extend_high_i8x16_u(bytes);
      v128.store(to, madd(factor, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low)), start));
      v128.store(to, madd(factor, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low)), start), 16);
      v128.store(to, madd(factor, f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high)), start), 32);
      v128.store(to, madd(factor, f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high)), start), 48);
    }
  }
  return count;
}

/** A scale and a zero for each number. @returns count */
function unpackByChannel(at: usize, count: i32, scale: usize, zero: usize, to: usize): i32 {
  for (let n = 0; n < count; n += 16, at += 8, to += 64, scale += 64, zero += 64) {
    const bytes = sixteen(at);
    const low = i16x8.extend_low_i8x16_u(bytes);
    const high = i16x8.extend_high_i8x16_u(bytes);
    const a = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(low));
    const b = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(low));
    const c = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(high));
    const d = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(high));
    v128.store(to, madd(v128.load(scale), a, v128.load(zero)));
    v128.store(to, madd(v128.load(scale, 16), b, v128.load(zero, 16)), 16);
    v128.store(to, madd(v128.load(scale, 32), c, v128.load(zero, 32)), 32);
    v128.store(to, madd(v128.load(scale, 48), d, v128.load(zero, 48)), 48);
  }
  return count;
}

/** Sixteen numbers of 4 bits, a byte each. */
@inline
function sixteen(at: usize): v128 {
  const pairs = v128.load64_zero(at);
  const lowBits = i8x16.splat(15);
  const even = v128.and(pairs, lowBits);
  const odd = v128.and(i16x8.shr_u(pairs, 4), lowBits);
  return v128.shuffle<i8>(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

function unpackNumber(matrix: Matrix, words: usize, n: i32, size: i32, scales: usize, to: usize): void {
  const bits = matrix.bits;
  const perWord = 32 / bits;
  const up = load<i32>(words + (((n / perWord) as usize) << 2)) << (32 - bits - (n % perWord) * bits);
  const at = scales + ((((n * matrix.scaleColumns) / size) as usize) << 2);
  const scale = load<f32>(matrix.scale + at);
  const isSigned = matrix.zero === 0;
  const x = isSigned ? ((up >> (32 - bits)) as f32) : (((up as u32) >>> (32 - bits)) as f32);
  store<f32>(to, isSigned ? scale * x : load<f32>(matrix.zero + at) + scale * x);
}
