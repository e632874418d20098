export interface Spread {
  readonly samples: number;
  readonly p25: number;
  readonly median: number;
  readonly p75: number;
  readonly p10: number;
  readonly p90: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const at = (share: number) => quantile(samples, share);
  return {
    samples: samples.length,
    p10: at(0.1),
    p25: at(0.25),
    median: at(0.5),
    p75: at(0.75),
    p90: at(0.9),
  };
}

/** The value below which a share of the samples lies, linear between neighbours. */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('quantile: no samples');
  const sorted = [...samples].sort((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  const above = sorted[Math.ceil(at)]!;
  return below + (above - below) * (at - Math.floor(at));
}
