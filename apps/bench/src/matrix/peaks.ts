// What a backend can do at all on this machine: operations and bytes a second, measured when the cells are.
import * as tf from '@tensorflow/tfjs-core';
import type { BackendName } from '../backends/backend-name';
import { measureWasmLimits } from '../gates/wasm-limits';
import { timed } from '../measure/timed';

export interface Peak {
  readonly gflops: number;
  readonly gigabytesPerSecond: number;
  readonly how: string;
}

/** By the name of the backend. */
export type Peaks = Readonly<Record<string, Peak>>;

const measures: Readonly<Record<BackendName, () => Promise<Peak | undefined>>> = {
  wasm: peakOfWasm,
  cpu: peakOfJavaScript,
  tensorflow: peakOfProducts,
};

const tries = 5;

/** Of the current backend. */
export const measurePeak = (backend: BackendName): Promise<Peak | undefined> => measures[backend]();

async function peakOfWasm(): Promise<Peak | undefined> {
  const limits = await measureWasmLimits();
  return (
    limits && {
      gflops: limits.flops / 1e9,
      gigabytesPerSecond: limits.bytesPerSecond / 1e9,
      how: 'one thread of WebAssembly: relaxed multiply-add in registers, and memory read',
    }
  );
}

async function peakOfJavaScript(): Promise<Peak> {
  const numbers = new Float32Array(2 ** 24).fill(1);
  const steps = 2 ** 23;
  return {
    gflops: (8 * steps) / (await fastest(() => multiplyAdd(steps))) / 1e6,
    gigabytesPerSecond: numbers.byteLength / (await fastest(() => sum(numbers))) / 1e6,
    how: 'one thread of JavaScript: four sums of products of numbers, and a sum over memory',
  };
}

/** Whatever the library's own products reach, with the threads it has. */
async function peakOfProducts(): Promise<Peak> {
  const N = 1024;
  const [square, long] = tf.tidy(() => [tf.ones<tf.Rank.R2>([N, N]), tf.ones<tf.Rank.R1>([2 ** 25])]);
  const read = (run: () => tf.Tensor) => fastest(() => tf.tidy(() => run().dataSync()[0]!));
  const peak = {
    gflops: (2 * N ** 3) / (await read(() => tf.matMul(square!, square!))) / 1e6,
    gigabytesPerSecond: (2 ** 25 * 4) / (await read(() => tf.sum(long!))) / 1e6,
    how: `the library's own product of matrices of ${N} × ${N}, and its sum over memory`,
  };
  tf.dispose([square!, long!]);
  return peak;
}

/** Milliseconds. */
async function fastest(run: () => number): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < tries; n++) times.push((await timed(run)).turn.ms);
  return Math.min(...times);
}

/** Four sums of their own, so that none waits for another. */
function multiplyAdd(steps: number): number {
  let [a, b, c, d] = [1, 2, 3, 4];
  for (let n = 0; n < steps; n++) {
    a = a * 0.999 + 0.001;
    b = b * 0.999 + 0.001;
    c = c * 0.999 + 0.001;
    d = d * 0.999 + 0.001;
  }
  return a + b + c + d;
}

function sum(numbers: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let n = 0; n < numbers.length; n += 4) {
    a += numbers[n]!;
    b += numbers[n + 1]!;
    c += numbers[n + 2]!;
    d += numbers[n + 3]!;
  }
  return a + b + c + d;
}
