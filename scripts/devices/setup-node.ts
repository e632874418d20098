// WebGPU in Node: Dawn, on a graphics card or on a Vulkan driver in software.
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { create, globals } from 'webgpu';
import { failOnRefusals, guardDevice } from './guard';

beforeAll(async () => {
  if (tf.getBackend() === 'webgpu') return; // files share an engine
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  expect(await navigator.gpu.requestAdapter(), 'a WebGPU adapter').not.toBeNull();
  await import('@tensorflow/tfjs-backend-webgpu'); // registers itself only where there is a `navigator.gpu`
  tf.env().set('PROD', true);
  tf.env().set('WEBGPU_CPU_FORWARD', false); // small tensors too are computed on the device
  await tf.setBackend('webgpu');
  expect(tf.getBackend()).toBe('webgpu');
  guardDevice();
});

failOnRefusals();
beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());
