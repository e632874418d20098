// What a test on a graphics card must not do unnoticed: read at once, which waits for the device and is impossible in
// many places, or go on after the device has refused a program, whose result is then whatever lay there.
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, expect } from 'vitest';

interface Device {
  addEventListener(type: 'uncapturederror', listen: (event: { error: { message: string } }) => void): void;
}

interface DeviceBackend {
  readSync(dataId: object): unknown;
  readonly device?: Device; // of webgpu
  readonly tensorMap?: { get(dataId: object): { values?: unknown } }; // of webgpu
  readonly texData?: { get(dataId: object): { values?: unknown } }; // of webgl
}

/** Call it once the backend is there. */
export function guardDevice(): void {
  const backend = tf.backend() as unknown as DeviceBackend;
  const entries = backend.tensorMap ?? backend.texData;
  if (!entries) return; // numbers of cpu and wasm lie in memory
  const { readSync } = backend;
  backend.readSync = (dataId) => {
    if (!entries.get(dataId)?.values) throw new Error('a tensor was read at once from a device');
    return readSync.call(backend, dataId);
  };
  backend.device?.addEventListener('uncapturederror', ({ error }) => refused.push(error.message));
}

const refused: string[] = [];

/** Fails a test after which the device has refused something. */
export function failOnRefusals(): void {
  afterEach(() => expect(refused.splice(0)).toEqual([]));
}
