import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from '../contract/errors';

/** What tfjs throws where a backend lacks an operation, as an error that says what to do; any other error as it is. */
export function explainMissingOp(error: unknown): unknown {
  const found = /^Kernel '(\w+)' not registered for backend '([^']+)'/.exec(
    (error as Error | undefined)?.message ?? '',
  );
  if (!found) return error;
  const [, op = '', backend = ''] = found;
  const { registryFactory } = tf.engine() as unknown as { registryFactory: object };
  const others = Object.keys(registryFactory).filter((name) => tf.getKernel(op, name));
  return new UnsupportedError('tfjs', `backend "${backend}" lacks the operation ${op}`, [
    others.length > 0
      ? `${others.map((name) => `"${name}"`).join(', ')} has it: tf.setBackend('${others[0]}')`
      : `no backend that is imported has it: import '@tensorflow/tfjs-backend-wasm' or another`,
  ]);
}
