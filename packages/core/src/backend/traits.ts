// What backends do differently, in one table: nowhere else is a backend known by its name.
import * as tf from '@tensorflow/tfjs-core';
import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';

/** What a backend can do, and what it computes otherwise than float32 arithmetic asks for. */
export interface BackendTraits {
  /**
   * The numbers of a tensor can be read without waiting for a device. Where not, nothing is read: what depends on numbers
   * is decided by operations, and kernels that compute on the host refuse.
   */
  readonly synchronousRead: boolean;
  /** Tensors lie on the heap of tfjs's wasm module, where loops and modules of ours read and write them in place. */
  readonly wasmHeap: boolean;
  /** Tensors are JavaScript arrays: reading one copies nothing, and compiled operations are not faster than a loop. */
  readonly hostArrays: boolean;
  /** `tensorScatterUpdate` is the fastest way to write rows; graphics cards compare each number with each row in it. */
  readonly fastScatter: boolean;
  /**
   * Matrices of one product, and rows of one softmax, that are computed at once. WebGPU starts at most 65,535 groups along
   * an axis: more matrices are refused, and of more rows the last is wrong.
   */
  readonly maxDispatch: number;
  /** Tensors that one `addN` adds. WebGPU gives a program eight buffers, one for the result; of more it makes zeros. */
  readonly maxAddends: number;
  /**
   * Finite logits below it count as it. On WebGL the largest of numbers below -1e20 is -1e20, and a row of them would have
   * no weights. -Infinity: no bound.
   */
  readonly smallestLogit: number;
  /** The largest of numbers that are all -Infinity is -Infinity. WebGL gives -1e20. */
  readonly exactMax: boolean;
  /** `log(0)` is -Infinity. On some graphics cards it is any large negative number, such as -88. */
  readonly exactLog: boolean;
  /** `tanh` is right to a part of itself. Graphics cards make it of exponentials: small numbers are off by 6e-8. */
  readonly exactTanh: boolean;
  /** True where floats have 16 bits: too few for scores. Asked at each call, since flags of tfjs decide. */
  readonly halfFloats: () => boolean;
}

const never = (): boolean => false;

/** A device of which nothing is known: the worst of each. */
const unknown: BackendTraits = {
  synchronousRead: false,
  wasmHeap: false,
  hostArrays: false,
  fastScatter: false,
  maxDispatch: 65_535,
  maxAddends: 7,
  smallestLogit: -1e19,
  exactMax: false,
  exactLog: false,
  exactTanh: false,
  halfFloats: never,
};

/** A backend that computes on the processor. */
const processor: BackendTraits = {
  synchronousRead: true,
  wasmHeap: false,
  hostArrays: false,
  fastScatter: false,
  maxDispatch: Number.POSITIVE_INFINITY,
  maxAddends: Number.POSITIVE_INFINITY,
  smallestLogit: Number.NEGATIVE_INFINITY,
  exactMax: true,
  exactLog: true,
  exactTanh: true,
  halfFloats: never,
};

const table = /* @__PURE__ */ new Map<string, BackendTraits>([
  ['cpu', { ...processor, hostArrays: true }],
  ['wasm', { ...processor, wasmHeap: true }],
  ['tensorflow', { ...processor, fastScatter: true }],
  [
    'webgl',
    {
      ...unknown,
      maxDispatch: Number.POSITIVE_INFINITY,
      halfFloats: () => !tf.env().getBool('WEBGL_RENDER_FLOAT32_ENABLED'),
    },
  ],
  ['webgpu', { ...unknown, smallestLogit: Number.NEGATIVE_INFINITY }],
]);

/**
 * What a backend does differently. One that is not in the table counts as a device of which nothing is known.
 *
 * @param name a backend of TensorFlow.js; default: the current one
 */
export function backendTraits(name: string = tf.getBackend()): BackendTraits {
  return table.get(name) ?? unknown;
}

/**
 * Says what a backend does differently, for packages that bring one, or that know one better.
 *
 * @param name as `tf.registerBackend` has it
 * @param traits those left out stay as they were; of a new backend, as of a device of which nothing is known
 * @throws ConfigError for traits that there are not, or of the wrong type
 */
export function setBackendTraits(name: string, traits: Partial<BackendTraits>): void {
  const names = Object.keys(unknown) as (keyof BackendTraits)[];
  const options: Partial<BackendTraits> = normalizeOptions('setBackendTraits', 'traits', traits, names);
  for (const trait of names) {
    const value = options[trait];
    if (value === undefined || typeof value === typeof unknown[trait]) continue;
    throw new ConfigError('setBackendTraits', `${trait} must be a ${typeof unknown[trait]}`, {
      [trait]: value,
    });
  }
  table.set(name, { ...backendTraits(name), ...options });
}
