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
  /** Calls of a turn, where one is too short for a clock. Default: 1. */
  readonly times?: number;
  readonly dispose?: () => void;
}

/** The wasm backend computes before it returns. */
export function tensorContestant({ run, check, dispose, times = 1, ...names }: TensorWork): Contestant {
  const runAll = () => {
    for (let n = 1; n < times; n++) tf.dispose(run() as tf.Tensor[]);
    return run();
  };
  return {
    ...names,
    async turn() {
      const { turn, result } = await timed(runAll);
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
