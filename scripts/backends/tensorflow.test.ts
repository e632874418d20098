import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addonFile, startTensorFlow, unsupportedPlatform } from './tensorflow';

type Factory = ReturnType<typeof tf.findBackendFactory>;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-tensorflow-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** A package of its name, with an addon that nobody loads. */
function install(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries({ 'package.json': '{}', ...files })) {
    const path = join(folder, 'node_modules/@tensorflow/tfjs-node-gpu', file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

/** Runs with what Node says of the machine replaced. */
async function on(machine: { platform: string; arch: string }, run: () => Promise<void>): Promise<void> {
  const { platform, arch } = process;
  const become = (values: object) => {
    for (const [name, value] of Object.entries(values)) Object.defineProperty(process, name, { value });
  };
  become(machine);
  try {
    await run();
  } finally {
    become({ platform, arch });
  }
}

describe('startTensorFlow says', () => {
  it('that the package is not installed, and the command that does it', async () => {
    const reason = unsupportedPlatform() ?? 'it is not installed (npx pnpm tensorflow:install)';
    expect(await startTensorFlow(folder)).toEqual({ reason });
  });

  it('that there is no library for the platform', () =>
    on({ platform: 'darwin', arch: 'arm64' }, async () => {
      const reason = 'there is no library for darwin arm64, only for linux x64 with glibc';
      expect(await startTensorFlow(folder)).toEqual({ reason });
    }));

  it('that the addon is not built', async () => {
    install({});
    const reason = 'its native addon is not built (npx pnpm tensorflow:install)';
    expect(await startTensorFlow(folder)).toEqual({ reason });
  });

  it('in one line why the package does not load', async () => {
    install({ [addonFile]: '', 'index.js': "throw new Error('no libtensorflow_cc.so.2\\nRequire stack')" });
    const reason = 'it does not load: no libtensorflow_cc.so.2 (npx pnpm tensorflow:install)';
    expect(await startTensorFlow(folder)).toEqual({ reason });
  });
});

describe('a backend that loads', () => {
  const engine = createRequire(import.meta.url).resolve('@tensorflow/tfjs-core');
  const registers = (isUsingGpuDevice: boolean) => `
    const { KernelBackend, registerBackend } = require(${JSON.stringify(engine)});
    const isShimmed = require('util').isNullOrUndefined(undefined);
    const values = { isUsingGpuDevice: ${isUsingGpuDevice}, binding: { TF_Version: '2.0' }, dispose() {} };
    if (isShimmed) registerBackend('tensorflow', () => Object.assign(new KernelBackend(), values));`;

  // Another test of this process may have started the real one.
  const real = (): Factory | undefined => tf.findBackendFactory('tensorflow');
  let before: Factory | undefined;
  beforeEach(() => {
    before = real();
    if (before) tf.removeBackend('tensorflow');
  });
  afterEach(async () => {
    await tf.setBackend('cpu');
    tf.removeBackend('tensorflow');
    if (before) tf.registerBackend('tensorflow', before);
  });

  it.each([
    [true, 'GPU'],
    [false, 'CPU'],
  ])('where a GPU is in use (%s) computes on the %s', async (isUsingGpuDevice, device) => {
    vi.stubEnv('TF_NUM_INTRAOP_THREADS', '3');
    install({ [addonFile]: '', 'index.js': registers(isUsingGpuDevice) });
    expect(await startTensorFlow(folder)).toEqual({ version: '2.0', device, threads: 3 });
    expect(tf.getBackend()).toBe('tensorflow');
  });
});
