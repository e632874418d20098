// A contestant that computes with TensorFlow.js in this process, on the current backend.
import * as tf from '@tensorflow/tfjs-core';
import { timed } from '../measure/timed';
import type { Check } from './check';
import type { Contestant } from './contestant';

export interface TensorWork {
  readonly peer: string;
  readonly version?: string;
  readonly op: string;
  readonly run: () => tf.Tensor | readonly tf.Tensor[];
  readonly check?: Check;
  readonly dispose?: () => void;
}

/** The wasm backend computes before it returns. */
export function tensorContestant({ run, check, dispose, ...names }: TensorWork): Contestant {
  return {
    ...names,
    async turn() {
      const { turn, result } = await timed(run);
      tf.dispose(result as tf.Tensor[]);
      return turn;
    },
    ...(check && {
      async error() {
        const results = [run()].flat();
        const numbers = results.map((tensor) => tensor.dataSync<'float32'>());
        tf.dispose(results);
        return check(numbers);
      },
    }),
    dispose: () => dispose?.(),
  };
}
