/** Up to `count` of the indices below `size`, the first and the last among them. */
export function evenlySpread(count: number, size: number): number[] {
  const steps = Math.max(1, count - 1);
  return [...new Set(Array.from({ length: count }, (_, n) => Math.round((n * (size - 1)) / steps)))];
}
