// Errors inside a tidy: they leave nothing in memory, and say what to do where a backend lacks an operation.
import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from '../contract/errors';

/**
 * `tf.tidy`, which also leaves nothing on the tape of a gradient when `f` throws: what the operations before the error
 * saved for their own gradients would otherwise stay for ever.
 *
 * @throws UnsupportedError in place of tfjs's error for an operation that the backend lacks, and for arrays that are too
 *   large to be made; what `f` throws otherwise
 */
export function cleanTidy<T extends tf.TensorContainer>(f: () => T): T {
  const { state } = tf.engine();
  const recorded = state.activeTape?.length ?? 0;
  try {
    return tf.tidy(f);
  } catch (error) {
    for (const { saved } of state.activeTape?.splice(recorded) ?? []) tf.dispose(saved);
    throw explained(error);
  }
}

/** `f` inside the tidy that is open, and only where there is none in one of its own. */
export function inAnyTidy<T extends tf.TensorContainer>(f: () => T): T {
  return tf.engine().state.activeScope ? f() : cleanTidy(f);
}

/** What is thrown for arrays that JavaScript cannot make, and what tfjs throws, as an error that says what to do. */
function explained(error: unknown): unknown {
  if (!(error instanceof RangeError) || !/array|buffer/i.test(error.message)) return explainMissingOp(error);
  return new UnsupportedError('memory', 'the tensors of a call must fit into memory', [error.message]);
}

/** What tfjs throws where a backend lacks an operation, as an error that says what to do; any other error as it is. */
function explainMissingOp(error: unknown): unknown {
  const message = (error as Error | undefined)?.message ?? '';
  const [, op, backend] = /^Kernel '(\w+)' not registered for backend '([^']+)'/.exec(message) ?? [];
  if (op === undefined || backend === undefined) return error;
  const { registryFactory } = tf.engine() as unknown as { registryFactory: object };
  const others = Object.keys(registryFactory).filter((name) => tf.getKernel(op, name));
  return new UnsupportedError('tfjs', `backend "${backend}" lacks the operation ${op}`, [
    others.length > 0
      ? `${others.map((name) => `"${name}"`).join(', ')} has it: tf.setBackend('${others[0]}')`
      : `no backend that is imported has it: import '@tensorflow/tfjs-backend-wasm' or another`,
  ]);
}
