// Arithmetic on four floats at a time.

/** a · b + c; one rounding where relaxed SIMD may be used. */
@inline
export function madd(a: v128, b: v128, c: v128): v128 {
  if (isDefined(RELAXED)) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/** The sums of the lanes of four. */
@inline
export function sumsOf(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return f32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

/** Four floats that lie apart. */
@inline
export function loadFour(a: usize, b: usize, c: usize, d: usize): v128 {
  return v128.load32_lane(d, v128.load32_lane(c, v128.load32_lane(b, v128.load32_zero(a), 1), 2), 3);
}

/** Four floats to places so many bytes apart. */
@inline
export function storeFour(to: usize, apart: usize, numbers: v128): void {
  v128.store32_lane(to, numbers, 0);
  v128.store32_lane(to + apart, numbers, 1);
  v128.store32_lane(to + 2 * apart, numbers, 2);
  v128.store32_lane(to + 3 * apart, numbers, 3);
}
