// Position interpolation (Chen et al. 2023, 2306.15595): positions are divided by a factor.
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from '../frequencies';

export interface LinearScaling {
  readonly type: 'linear';
  readonly factor: number;
}

export function linear(base: RotaryBase, { factor }: LinearScaling): RotaryFrequencies {
  return { perPosition: rotaryFrequencies(base).map((frequency) => frequency / factor), factor: 1 };
}
