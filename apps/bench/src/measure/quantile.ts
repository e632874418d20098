export interface Spread {
  readonly samples: number;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const [p10, median, p90] = [0.1, 0.5, 0.9].map((share) => quantile(samples, share)) as [
    number,
    number,
    number,
  ];
  return { samples: samples.length, median, p10, p90 };
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
