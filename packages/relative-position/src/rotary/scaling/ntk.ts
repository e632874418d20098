// A larger base: slow pairs turn slower by the factor, the fastest pair as before ("NTK-aware", bloc97 2023; Peng et al.
// 2023, 2309.00071, section 3.1).
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from '../frequencies';

export interface NtkScaling {
  readonly type: 'ntk';
  readonly factor: number;
}

export function ntk({ base, rotaryDim }: RotaryBase, { factor }: NtkScaling): RotaryFrequencies {
  return {
    perPosition: rotaryFrequencies({ base: base * factor ** (rotaryDim / (rotaryDim - 2)), rotaryDim }),
    factor: 1,
  };
}
