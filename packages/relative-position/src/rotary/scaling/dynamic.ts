// The larger base of `ntk`, with a factor that grows with the length once it exceeds what the model was trained on
// (Peng et al. 2023, 2309.00071, section 3.3).
import type { RotaryBase, RotaryFrequencies } from '../frequencies';
import { ntk } from './ntk';

export interface DynamicScaling {
  readonly type: 'dynamic';
  readonly factor: number;
  /** The length that the model was trained on. */
  readonly originalLength: number;
}

export function dynamic(
  base: RotaryBase,
  { factor, originalLength }: DynamicScaling,
  length: number,
): RotaryFrequencies {
  const times = Math.max(length, originalLength) / originalLength;
  return ntk(base, { type: 'ntk', factor: factor * times - (factor - 1) });
}
