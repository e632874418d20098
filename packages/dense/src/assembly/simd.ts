// Arithmetic on four floats at a time.

/** a · b + c; one rounding where relaxed SIMD may be used. */
@inline
export function madd(a: v128, b: v128, c: v128): v128 {
  if (isDefined(RELAXED)) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/** The sum of the four lanes. */
@inline
export function sumOf(a: v128): f32 {
  const pairs = f32x4.add(a, v128.shuffle<i32>(a, a, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}
