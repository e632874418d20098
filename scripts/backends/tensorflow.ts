// TensorFlow's own library as a backend of TensorFlow.js, or why it does not run. `pnpm tensorflow:install` puts it into a
// folder beside the workspace, from where it is loaded.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import util from 'node:util';
import * as tf from '@tensorflow/tfjs-core';
import { firstLine } from './errors';

export type TensorFlow =
  | { readonly version: string; readonly device: 'CPU' | 'GPU'; readonly threads: number }
  | { readonly reason: string };

/** Where the package is installed. */
export const tensorFlowFolder = fileURLToPath(new URL('../tensorflow/tfjs-node', import.meta.url));
const name = '@tensorflow/tfjs-node-gpu';
const command = 'npx pnpm tensorflow:install';

/** Where the addon belongs in the package. */
export const addonFile = 'lib/napi-v8/tfjs_binding.node';

/** Why there is no library for this machine in package registries; undefined where there is one. */
export function unsupportedPlatform(): string | undefined {
  const { platform, arch } = process;
  const interpreter = '/lib64/ld-linux-x86-64.so.2'; // that of glibc
  if (platform === 'linux' && arch === 'x64' && existsSync(interpreter)) return undefined;
  const libc = platform === 'linux' && arch === 'x64' ? ' without glibc' : '';
  return `there is no library for ${platform} ${arch}${libc}, only for linux x64 with glibc`;
}

/** The folder of the package where it has its addon, or why not. */
export function findTensorFlow(
  folder = tensorFlowFolder,
): { readonly path: string } | { readonly reason: string } {
  let path: string;
  try {
    path = dirname(createRequire(join(folder, 'package.json')).resolve(`${name}/package.json`));
  } catch {
    return { reason: unsupportedPlatform() ?? `it is not installed (${command})` };
  }
  return existsSync(join(path, addonFile))
    ? { path }
    : { reason: `its native addon is not built (${command})` };
}

/**
 * Starts the backend and makes it the current one. It takes as many threads as there are processors, or
 * `TF_NUM_INTRAOP_THREADS`, which counts only before the first start.
 */
export async function startTensorFlow(folder = tensorFlowFolder): Promise<TensorFlow> {
  // Importing the package without its addon fails slowly and registers half of itself, so look before importing.
  const installed = findTensorFlow(folder);
  if ('reason' in installed) return installed;
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2'; // errors only, not what the processor could do
  // Nearly every operation calls these two, which Node 22 warns of and later versions remove.
  Object.assign(util, {
    isNullOrUndefined: (value: unknown) => value === null || value === undefined,
    isArray: Array.isArray,
  });
  try {
    createRequire(installed.path)(installed.path);
    if (!(await tf.setBackend('tensorflow'))) return { reason: 'it could not start' };
  } catch (error) {
    return { reason: `it does not load: ${firstLine(error)} (${command})` };
  }
  const backend = tf.backend() as unknown as {
    readonly isUsingGpuDevice: boolean;
    readonly binding: { readonly TF_Version: string };
  };
  return {
    version: backend.binding.TF_Version,
    device: backend.isUsingGpuDevice ? 'GPU' : 'CPU', // without a driver, a library made for GPUs falls back by itself
    threads: Number(process.env.TF_NUM_INTRAOP_THREADS) || availableParallelism(),
  };
}
