// Weights at rest in blocks of 32 numbers of 8 or 4 bits with a scale, as `int8` of ours and files of GGUF have them:
//
//   int8  s · q     Q8_0  d · q     Q4_0  d · (q − 8)     Q4_1  d · q + m
//
// d and m are float16 before the numbers of a block; s is float32, of some blocks together, in an array beside. Of a byte of
// 4-bit numbers the low half is one of the first sixteen, the high half of the second.
import { Product } from './call';

export const INT8: i32 = 1;
export const Q8_0: i32 = 2;
export const Q4_0: i32 = 3;
export const Q4_1: i32 = 4;

/** Bytes of a block. */
@inline
export function blockBytes(format: i32): usize {
  return format === INT8 ? 32 : format === Q8_0 ? 34 : format === Q4_0 ? 18 : 20;
}

/** A float16 that is finite: its bits, moved, are those of a float32 that is 2^112 times smaller. */
@inline
export function half(at: usize): f32 {
  const bits = ((load<i16>(at) as i32) << 13) & 0x8fffe000;
  return reinterpret<f32>(bits) * reinterpret<f32>(0x77800000);
}

/** s or d of a block of a column. */
@inline
export function scaleOf(product: Product, column: i32, block: i32, at: usize): f32 {
  if (product.format !== INT8) return half(at);
  const scales = product.scales + (column as usize) * product.scaleStep;
  return load<f32>(scales + ((block / product.blocksPerScale) << 2));
}

/** The numbers of blocks of a column as floats. */
export function widen(product: Product, column: i32, first: i32, count: i32, to: usize): void {
  const format = product.format;
  const bytes = blockBytes(format);
  let at = product.right + (column as usize) * product.rightColumn + (first as usize) * bytes;
  for (let block = first; block < first + count; block++, at += bytes, to += 128) {
    const scale = f32x4.splat(scaleOf(product, column, block, at));
    if (format === INT8 || format === Q8_0) {
      const numbers = format === INT8 ? at : at + 2;
      for (let n: usize = 0; n < 32; n += 8) widenEight(v128.load8x8_s(numbers + n), scale, f32x4.splat(0), to + (n << 2));
    } else {
      const both = v128.load(at + (format === Q4_1 ? 4 : 2));
      const offset = f32x4.splat(format === Q4_1 ? half(at + 2) : 0);
      const middle = i8x16.splat(format === Q4_1 ? 0 : 8);
      const low = i8x16.sub(v128.and(both, i8x16.splat(15)), middle);
      const high = i8x16.sub(i8x16.shr_u(both, 4), middle);
      widenEight(i16x8.extend_low_i8x16_s(low), scale, offset, to);
      widenEight(i16x8.extend_high_i8x16_s(low), scale, offset, to + 32);
      widenEight(i16x8.extend_low_i8x16_s(high), scale, offset, to + 64);
      widenEight(i16x8.extend_high_i8x16_s(high), scale, offset, to + 96);
    }
  }
}

@inline
function widenEight(numbers: v128, scale: v128, offset: v128, to: usize): void {
  const low = f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(numbers));
  const high = f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(numbers));
  v128.store(to, f32x4.add(f32x4.mul(low, scale), offset));
  v128.store(to, f32x4.add(f32x4.mul(high, scale), offset), 16);
}
