// First weights of layers that are compared: made fast, and held once where layers ask for the same.
import type { Initializer } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { noise } from '../measure/noise';

export interface SharedWeights {
  /** Layers of one seed get the same numbers for kernels of the same name and shape, in the same memory. */
  readonly initializer: Initializer;
  /** The layers keep theirs. */
  dispose(): void;
}

/** Glorot uniform, as layers have by default, whose own 67 million numbers for a layer of 4,096 take seconds. */
export function sharedWeights(): SharedWeights {
  const kernels = new Map<string, tf.Tensor>();
  const make = (shape: readonly number[], seed: number): tf.Tensor => {
    const [inputs, outputs] = shape as readonly [number, number];
    const values = noise(inputs * outputs, { seed, limit: Math.sqrt(6 / (inputs + outputs)) });
    return tf.keep(tf.tensor2d(values, [inputs, outputs]));
  };
  return {
    initializer: (shape, seed) => {
      if (shape.length !== 2) return undefined; // vectors, and what no variant here has, start as they would
      const id = `${seed}: ${shape}`;
      const kernel = kernels.get(id) ?? make(shape, seed);
      kernels.set(id, kernel);
      return tf.reshape(kernel, [...shape]); // the same numbers: on wasm a clone is a copy
    },
    dispose: () => {
      tf.dispose([...kernels.values()]);
      kernels.clear();
    },
  };
}
