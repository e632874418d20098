// Loops that do nothing but what they are named for: how fast this machine's WebAssembly can be at all.

/** Of vectors of 4 numbers, each chain waiting for nothing but itself. */
const flopPerStep: i32 = 12 * 4 * 2;

export function flop(steps: i32): f64 {
  return <f64>steps * flopPerStep;
}

// x and y are arguments, since newer V8s make constants anew inside the loop, and accumulators have names, since an
// array of them would lie in memory.

export function multiplyThenAdd(steps: i32, x: f32, y: f32): f32 {
  const u = f32x4.splat(x), v = f32x4.splat(y);
  let a = u, b = u, c = u, d = u, e = u, f = u, g = u, h = u, i = u, j = u, k = u, l = u;
  for (let step = 0; step < steps; step++) {
    a = f32x4.add(f32x4.mul(a, v), u);
    b = f32x4.add(f32x4.mul(b, v), u);
    c = f32x4.add(f32x4.mul(c, v), u);
    d = f32x4.add(f32x4.mul(d, v), u);
    e = f32x4.add(f32x4.mul(e, v), u);
    f = f32x4.add(f32x4.mul(f, v), u);
    g = f32x4.add(f32x4.mul(g, v), u);
    h = f32x4.add(f32x4.mul(h, v), u);
    i = f32x4.add(f32x4.mul(i, v), u);
    j = f32x4.add(f32x4.mul(j, v), u);
    k = f32x4.add(f32x4.mul(k, v), u);
    l = f32x4.add(f32x4.mul(l, v), u);
  }
  return sum(sum4(a, b, c, d), sum4(e, f, g, h), sum4(i, j, k, l));
}

export function relaxedMultiplyAdd(steps: i32, x: f32, y: f32): f32 {
  const u = f32x4.splat(x), v = f32x4.splat(y);
  let a = u, b = u, c = u, d = u, e = u, f = u, g = u, h = u, i = u, j = u, k = u, l = u;
  for (let step = 0; step < steps; step++) {
    a = f32x4.relaxed_madd(a, v, u);
    b = f32x4.relaxed_madd(b, v, u);
    c = f32x4.relaxed_madd(c, v, u);
    d = f32x4.relaxed_madd(d, v, u);
    e = f32x4.relaxed_madd(e, v, u);
    f = f32x4.relaxed_madd(f, v, u);
    g = f32x4.relaxed_madd(g, v, u);
    h = f32x4.relaxed_madd(h, v, u);
    i = f32x4.relaxed_madd(i, v, u);
    j = f32x4.relaxed_madd(j, v, u);
    k = f32x4.relaxed_madd(k, v, u);
    l = f32x4.relaxed_madd(l, v, u);
  }
  return sum(sum4(a, b, c, d), sum4(e, f, g, h), sum4(i, j, k, l));
}

/** Of the first bytes of memory, 64 at a time. */
export function readMemory(bytes: i32): f32 {
  let a = f32x4.splat(0), b = a, c = a, d = a;
  for (let at = 0; at < bytes; at += 64) {
    a = f32x4.add(a, v128.load(at));
    b = f32x4.add(b, v128.load(at, 16));
    c = f32x4.add(c, v128.load(at, 32));
    d = f32x4.add(d, v128.load(at, 48));
  }
  return sum(sum4(a, b, c, d), a, b);
}

function sum4(a: v128, b: v128, c: v128, d: v128): v128 {
  return f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
}

/** What the loops computed must be used, or it is left out. */
function sum(a: v128, b: v128, c: v128): f32 {
  return f32x4.extract_lane(f32x4.add(a, f32x4.add(b, c)), 0);
}
