// LongRoPE (Ding et al. 2024, 2402.13753): a divisor found by search for each pair, other ones past the original length.
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from '../frequencies';

export interface LongRopeScaling {
  readonly type: 'longrope';
  /** How many times longer than `originalLength` the model was made. */
  readonly factor: number;
  /** The length that the model was trained on. */
  readonly originalLength: number;
  /** A divisor for each pair, up to the original length. */
  readonly shortFactors: readonly number[];
  /** A divisor for each pair, past the original length. */
  readonly longFactors: readonly number[];
  /** What cos and sin are multiplied by. Default: sqrt(1 + ln(factor) / ln(originalLength)). */
  readonly attentionFactor?: number;
}

export function longRope(base: RotaryBase, scaling: LongRopeScaling, length: number): RotaryFrequencies {
  const { factor, originalLength, shortFactors, longFactors } = scaling;
  const divisors = length > originalLength ? longFactors : shortFactors;
  const longer = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalLength));
  return {
    perPosition: rotaryFrequencies(base).map((frequency, i) => frequency / divisors[i]!),
    factor: scaling.attentionFactor ?? longer,
  };
}
