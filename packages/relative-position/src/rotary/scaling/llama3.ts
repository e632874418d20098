// Llama 3.1 (Grattafiori et al. 2024, 2407.21783): pairs with short wavelengths keep their frequency, those with long ones
// are interpolated, and between lies a ramp.
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from '../frequencies';

export interface Llama3Scaling {
  readonly type: 'llama3';
  readonly factor: number;
  /** The length that the model was trained on. */
  readonly originalLength: number;
  /** Wavelengths above originalLength / lowFrequencyFactor are interpolated. */
  readonly lowFrequencyFactor: number;
  /** Wavelengths below originalLength / highFrequencyFactor are kept. */
  readonly highFrequencyFactor: number;
}

export function llama3(base: RotaryBase, scaling: Llama3Scaling): RotaryFrequencies {
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
