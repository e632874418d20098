// Positions as sines and cosines of falling frequencies (Vaswani et al. 2017, 1706.03762, section 3.5).

export interface SinusoidOptions {
  /** Default: 10000. */
  readonly base?: number;
  /** Sines at even places and cosines at odd ones; false: all sines, then all cosines. */
  readonly interleaved: boolean;
}

/**
 * sin(p / base^(2i / width)) and cos of the same, for i = 0 … width / 2 - 1, in doubles.
 *
 * @param width even
 * @returns [positions, width], rounded to float32
 */
export function sinusoids(
  positions: ArrayLike<number>,
  width: number,
  { base = 10_000, interleaved }: SinusoidOptions,
): Float32Array {
  const result = new Float32Array(positions.length * width);
  const [step, cosine] = interleaved ? [2, 1] : [1, width / 2];
  for (let i = 0; i < width / 2; i++) {
    const frequency = base ** ((-2 * i) / width);
    for (let n = 0; n < positions.length; n++) {
      const at = n * width + i * step;
      result[at] = Math.sin(positions[n]! * frequency);
      result[at + cosine] = Math.cos(positions[n]! * frequency);
    }
  }
  return result;
}
