// How fast each pair of numbers turns (Su et al. 2021, 2104.09864), and the formulas of each scaling.
import type {
  DynamicScaling,
  LinearScaling,
  Llama3Scaling,
  LongRopeScaling,
  NtkScaling,
  RotaryScaling,
  YarnScaling,
} from './rotary-scaling';

/** What frequencies follow from. */
export interface RotaryBase {
  readonly base: number;
  readonly rotaryDim: number;
}

/** Whether frequencies follow from the longest call, too. */
export function dependsOnLength(scaling: RotaryScaling | undefined): boolean {
  return scaling?.type === 'dynamic' || scaling?.type === 'longrope';
}

/** Radians a position for each pair, in doubles, and what cos and sin are multiplied by. */
export interface RotaryFrequencies {
  readonly perPosition: Float64Array; // [rotaryDim / 2]
  readonly factor: number;
}

/** base^(-2i / rotaryDim) of pair i. */
export function rotaryFrequencies({ base, rotaryDim }: RotaryBase): Float64Array {
  return Float64Array.from({ length: rotaryDim / 2 }, (_, i) => base ** ((-2 * i) / rotaryDim));
}

/**
 * The frequencies of a call.
 *
 * @param length one past the largest position; `dynamic` and `longrope` depend on it
 */
export function scaledFrequencies(
  base: RotaryBase,
  scaling: RotaryScaling | undefined,
  length: number,
): RotaryFrequencies {
  switch (scaling?.type) {
    case undefined:
      return { perPosition: rotaryFrequencies(base), factor: 1 };
    case 'linear':
      return linear(base, scaling);
    case 'ntk':
      return ntk(base, scaling);
    case 'dynamic':
      return dynamic(base, scaling, length);
    case 'yarn':
      return yarn(base, scaling);
    case 'longrope':
      return longRope(base, scaling, length);
    case 'llama3':
      return llama3(base, scaling);
  }
}

function linear(base: RotaryBase, { factor }: Pick<LinearScaling, 'factor'>): RotaryFrequencies {
  return { perPosition: rotaryFrequencies(base).map((frequency) => frequency / factor), factor: 1 };
}

function ntk({ base, rotaryDim }: RotaryBase, { factor }: Pick<NtkScaling, 'factor'>): RotaryFrequencies {
  const larger = base * factor ** (rotaryDim / (rotaryDim - 2));
  return { perPosition: rotaryFrequencies({ base: larger, rotaryDim }), factor: 1 };
}

function dynamic(
  base: RotaryBase,
  { factor, originalLength }: DynamicScaling,
  length: number,
): RotaryFrequencies {
  const times = Math.max(length, originalLength) / originalLength;
  return ntk(base, { factor: factor * times - (factor - 1) });
}

function yarn(base: RotaryBase, scaling: YarnScaling): RotaryFrequencies {
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

function longRope(base: RotaryBase, scaling: LongRopeScaling, length: number): RotaryFrequencies {
  const { factor, originalLength, shortFactors, longFactors } = scaling;
  const divisors = length > originalLength ? longFactors : shortFactors;
  const longer = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalLength));
  return {
    perPosition: rotaryFrequencies(base).map((frequency, i) => frequency / divisors[i]!),
    factor: scaling.attentionFactor ?? longer,
  };
}

function llama3(base: RotaryBase, scaling: Llama3Scaling): RotaryFrequencies {
  const { factor, originalLength, lowFrequencyFactor: low, highFrequencyFactor: high } = scaling;
  const perPosition = rotaryFrequencies(base).map((frequency) => {
    const turns = (originalLength * frequency) / (2 * Math.PI);
    if (turns > high) return frequency;
    if (turns < low) return frequency / factor;
    const kept = (turns - low) / (high - low);
    return ((1 - kept) * frequency) / factor + kept * frequency;
  });
  return { perPosition, factor: 1 };
}
