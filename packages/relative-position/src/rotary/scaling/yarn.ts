// YaRN (Peng et al. 2023, 2309.00071): pairs that turn often within the original length keep their frequency, those that
// turn less than once are interpolated, and between lies a ramp. Scores are sharpened by the square of a factor.
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from '../frequencies';

export interface YarnScaling {
  readonly type: 'yarn';
  readonly factor: number;
  /** The length that the model was trained on. */
  readonly originalLength: number;
  /** Turns from which on a pair keeps its frequency. Default: 32. */
  readonly betaFast?: number;
  /** Turns up to which a pair is interpolated. Default: 1. */
  readonly betaSlow?: number;
  /** Whether the ends of the ramp are whole pairs. Default: true. */
  readonly truncate?: boolean;
  /** What cos and sin are multiplied by. Default: 0.1 ln(factor) + 1, or the ratio of the two below. */
  readonly attentionFactor?: number;
  /** DeepSeek's pair, given together: (0.1 mscale ln(factor) + 1) / (0.1 mscaleAllDim ln(factor) + 1). */
  readonly mscale?: number;
  readonly mscaleAllDim?: number;
}

export function yarn(base: RotaryBase, scaling: YarnScaling): RotaryFrequencies {
  const [low, high] = rampOf(base, scaling);
  const perPosition = rotaryFrequencies(base).map((frequency, i) => {
    const interpolated = Math.min(1, Math.max(0, (i - low) / (high - low)));
    return frequency * (1 - interpolated + interpolated / scaling.factor);
  });
  return { perPosition, factor: attentionFactorOf(scaling) };
}

/** The first pair that is interpolated in part, and the first that is in full. */
function rampOf({ base, rotaryDim }: RotaryBase, scaling: YarnScaling): readonly [number, number] {
  const { originalLength, betaFast = 32, betaSlow = 1, truncate = true } = scaling;
  const pairThatTurns = (times: number) =>
    (rotaryDim * Math.log(originalLength / (times * 2 * Math.PI))) / (2 * Math.log(base));
  const [first, last] = [pairThatTurns(betaFast), pairThatTurns(betaSlow)];
  const low = Math.max(truncate ? Math.floor(first) : first, 0);
  const high = Math.min(truncate ? Math.ceil(last) : last, rotaryDim - 1);
  return [low, low === high ? high + 0.001 : high];
}

function attentionFactorOf({ attentionFactor, factor, mscale, mscaleAllDim }: YarnScaling): number {
  if (attentionFactor !== undefined) return attentionFactor;
  const scaleOf = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  return mscale && mscaleAllDim ? scaleOf(mscale) / scaleOf(mscaleAllDim) : scaleOf(1);
}
