// Numbers that look random, made fast: a matrix of 4096 × 4096 in milliseconds.

/** Prime, so that rows of any width start at other places of the sequence. */
const period = 262_139;

/** Uniform in [-limit, limit), the same for a seed: xorshift (Marsaglia 2003), repeated after `period` numbers. */
export function noise(size: number, { seed, limit = 1 }: { seed: number; limit?: number }): Float32Array {
  const values = new Float32Array(size);
  let state = seed ^ 0x9e3779b9 || 1; // 0 would stay 0
  for (let n = 0; n < Math.min(size, period); n++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[n] = (state / 2 ** 31) * limit;
  }
  for (let filled = period; filled < size; filled *= 2) values.copyWithin(filled, 0, filled);
  return values;
}
