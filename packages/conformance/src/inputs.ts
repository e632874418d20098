// Random numbers on the host: the same everywhere for a seed, and exact in float32, so that an oracle in doubles and a
// kernel in floats start from the same inputs.
import type { HostTensor } from './oracle';

/** Uniform numbers in [0, 1): mulberry32 (Tommy Ettinger, 2017). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Multiples of 1/256 in [-2, 2). */
export function randomArray(size: number, random: () => number): Float64Array {
  return Float64Array.from({ length: size }, () => Math.floor(random() * 1024) / 256 - 2);
}

export function randomTensor(shape: readonly number[], random: () => number): HostTensor {
  return { shape, data: randomArray(sizeOf(shape), random) };
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

/** A tensor by what stands at each index. */
export function tabulate(shape: readonly number[], entry: (...at: number[]) => number): HostTensor {
  const data = new Float64Array(sizeOf(shape));
  const at = shape.map(() => 0);
  for (let n = 0; n < data.length; n++) {
    data[n] = entry(...at);
    // The next index, in row-major order.
    for (let axis = shape.length - 1; axis >= 0 && ++at[axis]! === shape[axis]; axis--) at[axis] = 0;
  }
  return { shape, data };
}
