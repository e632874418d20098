// Whether the tensorflow backend computes here, with the one engine of the workspace.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';
import { startTensorFlow } from '../backends/tensorflow';
import { packageFolder } from './addon';

/**
 * @returns what computes, in words
 * @throws Error where it does not; a second try takes another process
 */
export async function check(): Promise<string> {
  const start = await startTensorFlow();
  if ('reason' in start) throw new Error(start.reason);
  const engines = [`${packageFolder()}/package.json`, import.meta.filename].map(engineOf);
  if (engines[0] !== engines[1]) throw new Error(`two engines: ${engines.join(' and ')}`);
  const product = tf.matMul(tf.ones([2, 3]), tf.ones([3, 2]));
  const numbers = product.dataSync().join();
  if (numbers !== '3,3,3,3') throw new Error(`a product of ones came out as ${numbers}`);
  const { version, device, threads } = start;
  return `TensorFlow ${version} on the ${device}, threads: ${threads}, Node ${process.version}`;
}

/** The engine that a module finds. */
function engineOf(from: string): string {
  return createRequire(createRequire(from).resolve('@tensorflow/tfjs')).resolve('@tensorflow/tfjs-core');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(await check());
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
