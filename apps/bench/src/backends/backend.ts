// Which TensorFlow.js backend runs: TensorFlow's own library where its addon is built, then WebAssembly, then JavaScript.
import * as tf from '@tensorflow/tfjs-core';
import { firstLine } from '../../../../scripts/backends/errors';
import { startTensorFlow } from '../../../../scripts/backends/tensorflow';
import { UsageError } from '../command-line/errors';
import { type BackendName, backendNames } from './backend-name';

export interface Backend {
  readonly name: BackendName;
  /** What really computes: `SIMD, one thread`, `GPU`, ... */
  readonly device: string;
  /** The backends before it and why each was not taken. */
  readonly passedOver: readonly { readonly name: BackendName; readonly reason: string }[];
}

type Start = { readonly device: string } | { readonly reason: string };

const starts: Record<BackendName, () => Promise<Start>> = {
  tensorflow: startNative,
  wasm: startWasm,
  cpu: startCpu,
};

/** Starts it and makes it the current one, or says why not. */
export const startBackend = (name: BackendName): Promise<Start> => starts[name]();

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
    passedOver.map(({ name, reason }) => `backend ${name} does not run here: ${reason}`).join('; '),
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

async function startNative(): Promise<Start> {
  const start = await startTensorFlow();
  if ('reason' in start) return start;
  const { version, device, threads } = start;
  return {
    device: `TensorFlow ${version} on the ${device}, ${threads === 1 ? 'one thread' : `${threads} threads`}`,
  };
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
