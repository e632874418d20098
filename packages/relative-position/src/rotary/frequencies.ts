// How fast each pair of numbers turns (Su et al. 2021, 2104.09864).

/** What frequencies follow from. */
export interface RotaryBase {
  readonly base: number;
  readonly rotaryDim: number;
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
