// Arithmetic on four floats at a time.

/** a · b + c; one rounding where relaxed SIMD may be used. */
@inline
export function madd(a: v128, b: v128, c: v128): v128 {
  if (isDefined(RELAXED)) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/** The larger: a where one is NaN and it is a. */
@inline
export function larger(a: v128, b: v128): v128 {
  return f32x4.pmax(a, b);
}

export const NEGATIVE_INFINITY: f32 = -Infinity;
const LOG2_E: f32 = 1.44269504;

/**
 * e to the power of x, within 2e-7 of it; 0 below -88, NaN where x is. With x log2(e) = n + f, |f| <= 1/2, a polynomial gives
 * 2^f, and n is added to the exponent bits.
 */
@inline
export function exp(x: v128): v128 {
  const roundsToWhole = f32x4.splat(12582912.0); // 1.5 · 2^23: what is added to it keeps no fraction
  // At -127 the polynomial is 1, and bits cancel to 0.
  const power = larger(f32x4.mul(x, f32x4.splat(LOG2_E)), f32x4.splat(-127.0));
  const shifted = f32x4.add(power, roundsToWhole);
  const f = f32x4.sub(power, f32x4.sub(shifted, roundsToWhole));
  let p = madd(f, f32x4.splat(1.32647387e-3), f32x4.splat(9.67151667e-3));
  p = madd(p, f, f32x4.splat(5.55073375e-2));
  p = madd(p, f, f32x4.splat(2.4022242e-1));
  p = madd(p, f, f32x4.splat(6.93146978e-1));
  p = madd(p, f, f32x4.splat(1.0));
  return i32x4.add(p, i32x4.shl(shifted, 23));
}

/** The hyperbolic tangent: an odd polynomial near 0, elsewhere 1 - 2 / (e^2x + 1). */
export function tanh(x: v128): v128 {
  const sign = v128.and(x, f32x4.splat(-0.0));
  const size = v128.xor(x, sign);
  const square = f32x4.mul(x, x);
  let p = madd(square, f32x4.splat(-5.70498872745e-3), f32x4.splat(2.06390887954e-2));
  p = madd(p, square, f32x4.splat(-5.37397155531e-2));
  p = madd(p, square, f32x4.splat(1.33314422036e-1));
  p = madd(p, square, f32x4.splat(-3.33332819422e-1));
  const small = madd(f32x4.mul(p, square), x, x);
  const power = exp(f32x4.mul(f32x4.min(size, f32x4.splat(20.0)), f32x4.splat(2.0)));
  const rest = f32x4.div(f32x4.splat(2.0), f32x4.add(power, f32x4.splat(1.0)));
  const large = v128.or(f32x4.sub(f32x4.splat(1.0), rest), sign);
  return v128.bitselect(small, large, f32x4.lt(size, f32x4.splat(0.625)));
}

/** The four sums of the lanes of a, b, c and d. */
@inline
export function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return f32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7));
}

/** The first numbers of a, b, c and d; then the second ones, ... : four rows become four columns. */
@inline
export function firstOf(a: v128, b: v128, c: v128, d: v128): v128 {
  return v128.shuffle<i32>(
    v128.shuffle<i32>(a, b, 0, 4, 1, 5),
    v128.shuffle<i32>(c, d, 0, 4, 1, 5),
    0,
    1,
    4,
    5,
  );
}

@inline
export function secondOf(a: v128, b: v128, c: v128, d: v128): v128 {
  return v128.shuffle<i32>(
    v128.shuffle<i32>(a, b, 0, 4, 1, 5),
    v128.shuffle<i32>(c, d, 0, 4, 1, 5),
    2,
    3,
    6,
    7,
  );
}

@inline
export function thirdOf(a: v128, b: v128, c: v128, d: v128): v128 {
  return v128.shuffle<i32>(
    v128.shuffle<i32>(a, b, 2, 6, 3, 7),
    v128.shuffle<i32>(c, d, 2, 6, 3, 7),
    0,
    1,
    4,
    5,
  );
}

@inline
export function fourthOf(a: v128, b: v128, c: v128, d: v128): v128 {
  return v128.shuffle<i32>(
    v128.shuffle<i32>(a, b, 2, 6, 3, 7),
    v128.shuffle<i32>(c, d, 2, 6, 3, 7),
    2,
    3,
    6,
    7,
  );
}
