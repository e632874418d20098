/** The value below which a share of the samples lies, linear between neighbours. */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('quantile: no samples');
  const sorted = [...samples].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  const above = sorted[Math.ceil(at)]!;
  return below + (above - below) * (at - Math.floor(at));
}
