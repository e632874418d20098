// Numbers drawn on the host, each from what it is for: the same seed, entry and step always give the same one.

/**
 * A number in [0, 1) of 32 random bits: a counter is mixed, twice for each part, by the finalizer of MurmurHash3.
 *
 * @param counters whole numbers, such as seed, batch entry and step
 */
export function uniform(...counters: readonly number[]): number {
  const bits = counters.reduce((hash, counter) => mix(mix(hash ^ counter) + 0x9e3779b9), 0x243f6a88);
  return (bits >>> 0) / 2 ** 32;
}

/** A bijection of 32 bits, by which each bit of the result depends on all bits of x. */
function mix(x: number): number {
  let bits = x;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
