// Gradients of a function of host arrays, by central differences: right whatever the derivation of a kernel says. Along
// one random direction that takes two evaluations; entry by entry it takes two for each number.
import { seededRandom } from './inputs';
import type { HostTensor } from './oracle';

/** `output`, `weights`, `logSumExp`; or a gradient or a direction for each argument. */
export type Numbers = { readonly [name: string]: Float64Array };

/** Numbers on the host, by argument. */
export type HostTensors = { readonly [argument: string]: HostTensor };

const step = 1e-4;

/** d loss / d array, one entry after the other: `(loss(x + h) - loss(x - h)) / 2h`, exact to about h² in doubles. */
export function centralDifferences(loss: () => number, array: Float64Array): Float64Array {
  return array.map((original, n) => {
    const lossAt = (size: number) => {
      array[n] = original + size;
      const value = loss();
      array[n] = original;
      return value;
    };
    return (lossAt(step) - lossAt(-step)) / (2 * step);
  });
}

/**
 * A random direction of length 1 for all numbers of the arrays together. Sizes differ by up to three times, so that no
 * two entries can be exchanged without notice and none is lost among the others.
 */
function randomDirection(arrays: HostTensors, seed = 5): Numbers {
  const random = seededRandom(seed);
  const draw = () => (random() < 0.5 ? -1 : 1) * (0.5 + random());
  const steps = Object.entries(arrays).map(([name, { data }]) => [name, data.map(draw)] as const);
  const squares = steps.flatMap(([, data]) => data.reduce((sum, x) => sum + x * x, 0));
  const length = Math.sqrt(squares.reduce((sum, x) => sum + x, 0));
  return Object.fromEntries(steps.map(([name, data]) => [name, data.map((x) => x / length)]));
}

/** The derivative of a loss along a direction. */
export interface Slope {
  /** Of each argument that moves; together of length 1. */
  readonly direction: Numbers;
  readonly value: number;
}

/** The slope along a random direction of all arrays, from two evaluations. The loss reads the arrays; they end as they were. */
export function slopeOf(loss: () => number, arrays: HostTensors): Slope {
  const direction = randomDirection(arrays);
  const parts = Object.entries(arrays).map(
    ([name, { data }]) => [data, data.slice(), direction[name]!] as const,
  );
  const lossAt = (size: number) => {
    for (const [data, original, steps] of parts) {
      for (let n = 0; n < data.length; n++) data[n] = original[n]! + size * steps[n]!;
    }
    const value = loss();
    for (const [data, original] of parts) data.set(original);
    return value;
  };
  return { direction, value: (lossAt(step) - lossAt(-step)) / (2 * step) };
}

/** The slope along a random direction of each argument alone, by argument. */
export function slopesOf(loss: () => number, arrays: HostTensors): { readonly [argument: string]: Slope } {
  const slopes = Object.entries(arrays).map(([name, array]) => [name, slopeOf(loss, { [name]: array })]);
  return Object.fromEntries(slopes);
}

/** Σ gradient · direction: what gradients say of the slope along the direction. */
export function alongDirection(gradients: Numbers, direction: Numbers): number {
  return Object.entries(direction).reduce((sum, [name, steps]) => {
    const gradient = gradients[name]!;
    if (gradient.length !== steps.length)
      throw new Error(`the gradient of ${name} has ${gradient.length} numbers, not ${steps.length}`);
    return steps.reduce((total, x, n) => total + x * gradient[n]!, sum);
  }, 0);
}

/** Σ value · cotangent. Entries of -Infinity (the log-sum-exp of a fully masked row) are constants. */
export function weightedSum(value: Float64Array, cotangent: Float64Array): number {
  let sum = 0;
  for (let n = 0; n < value.length; n++) {
    if (value[n] !== Number.NEGATIVE_INFINITY) sum += value[n]! * cotangent[n]!;
  }
  return sum;
}
