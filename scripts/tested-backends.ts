import { findTensorFlow } from '../apps/bench/src/backend-tensorflow';

/** The backends that the tests run on: `POLYHEAD_BACKENDS`, or all that are installed. Says which is not, and why. */
export function testedBackends(): string[] {
  const { POLYHEAD_BACKENDS: wanted } = process.env;
  if (wanted) return wanted.split(',');
  const found = findTensorFlow();
  if ('path' in found) return ['cpu', 'wasm', 'tensorflow'];
  console.log(`not tested on tensorflow: ${found.reason}`);
  return ['cpu', 'wasm'];
}
