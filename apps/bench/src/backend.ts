// Which TensorFlow.js backend runs: TensorFlow's own library where its addon is built, then WebAssembly, then JavaScript.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import util from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { type BackendName, backendNames } from './backend-name';
import { UsageError } from './errors';

export interface Backend {
  readonly name: BackendName;
  /** What really computes: `SIMD, one thread`, `GPU`, ... */
  readonly device: string;
  /** The backends before it and why each was not taken. */
  readonly passedOver: readonly { readonly name: BackendName; readonly reason: string }[];
}

type Start = { readonly device: string } | { readonly reason: string };

const starts: Record<BackendName, () => Promise<Start>> = {
  tensorflow: startTensorFlow,
  wasm: startWasm,
  cpu: startCpu,
};

/** Starts the wanted backend or, without a wish, the first that starts, and makes it the current one. */
export async function chooseBackend(wanted?: BackendName): Promise<Backend> {
  tf.enableProdMode(); // no advertisement for the native addon on the first use of the cpu backend
  const passedOver: { name: BackendName; reason: string }[] = [];
  for (const name of wanted === undefined ? backendNames : [wanted]) {
    const start = await starts[name]();
    if ('device' in start) return { name, device: start.device, passedOver };
    passedOver.push({ name, reason: start.reason });
  }
  throw new UsageError(
    passedOver.map(({ name, reason }) => `backend ${name} does not run here: ${reason}`).join('\n'),
  );
}

/** The backend and the ones after it that start, to compare with; the last of them is the current one. */
export async function startFrom(name: BackendName): Promise<BackendName[]> {
  const started: BackendName[] = [];
  for (const candidate of backendNames.slice(backendNames.indexOf(name))) {
    if ('device' in (await starts[candidate]())) started.push(candidate);
  }
  return started;
}

// Importing the package without its addon fails slowly and registers half of itself, so look before importing.
async function startTensorFlow(): Promise<Start> {
  const gpuPackage = '@tensorflow/tfjs-node-gpu'; // in a variable: an optional peer, whose types may be missing
  const require = createRequire(import.meta.url);
  let folder: string;
  try {
    folder = dirname(require.resolve(`${gpuPackage}/package.json`));
  } catch {
    return { reason: `${gpuPackage} is not installed` };
  }
  if (!existsSync(join(folder, 'lib', 'napi-v8', 'tfjs_binding.node'))) {
    return { reason: `${gpuPackage} is installed, but its native addon is not built` };
  }
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2'; // errors only, not what the processor could do
  // Its JavaScript calls this function, which Node 23 removed.
  const legacy = util as { isNullOrUndefined?: (value: unknown) => boolean };
  legacy.isNullOrUndefined ??= (value) => value === null || value === undefined;
  try {
    await import(gpuPackage);
    if (!(await tf.setBackend('tensorflow'))) return { reason: 'it could not start' };
  } catch (error) {
    return { reason: `${gpuPackage} does not load: ${firstLine(error)}` };
  }
  // TensorFlow falls back to the CPU by itself, so the package's name proves nothing.
  const { isUsingGpuDevice } = tf.backend() as { readonly isUsingGpuDevice?: boolean };
  return { device: isUsingGpuDevice ? 'GPU' : 'TensorFlow on the CPU, no GPU in use' };
}

async function startWasm(): Promise<Start> {
  try {
    await import('@tensorflow/tfjs-backend-wasm');
    if (!(await tf.setBackend('wasm'))) return { reason: 'its module could not start' };
  } catch (error) {
    return { reason: firstLine(error) };
  }
  const simd = await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT');
  return { device: `${simd ? 'SIMD' : 'no SIMD'}, one thread` };
}

async function startCpu(): Promise<Start> {
  await import('@tensorflow/tfjs-backend-cpu');
  await tf.setBackend('cpu');
  return { device: 'plain JavaScript, one thread' };
}

const firstLine = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!;
