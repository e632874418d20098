// Which weights dropout keeps: drawn on the host from counters, so that every kernel, storage and pass agrees.

const inverse32 = 2 ** 32;

/** Mixes 32 bits until each depends on all (the finalizer of MurmurHash3). */
function mix(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}

/** The part of the draw that a whole row shares. `query` is its token order. */
export function dropoutRow(seed: number, b: number, h: number, query: number): number {
  return mix(mix(mix(mix(seed | 0) + b) + Math.imul(h, 0x9e3779b1)) + Math.imul(query, 0x85ebca77));
}

/** True where the weight of the key of token order `key` is kept, in the row of `dropoutRow`. */
export function dropoutKeeps(row: number, key: number, rate: number): boolean {
  return mix(row + Math.imul(key, 0x27d4eb2f)) >>> 0 >= rate * inverse32;
}

/**
 * What a weight is multiplied by: 0, or 1 / (1 - rate), so that the expected weight stays (Srivastava et al. 2014).
 *
 * @param query token order of the query row
 * @param key token order of the key
 */
export function dropoutFactor(
  { rate, seed }: { readonly rate: number; readonly seed: number },
  {
    b,
    h,
    query,
    key,
  }: { readonly b: number; readonly h: number; readonly query: number; readonly key: number },
): number {
  return dropoutKeeps(dropoutRow(seed, b, h, query), key, rate) ? 1 / (1 - rate) : 0;
}
