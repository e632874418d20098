// A page: the backend of its project, with tfjs's gradients registered, inside one engine scope.
/// <reference types="vite/client" />
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { nameWasmFiles } from '../backends/page-wasm-files';
import { failOnRefusals, guardDevice } from './guard';

const backend: string = import.meta.env.POLYHEAD_BACKEND;
Object.assign(globalThis, { process: { env: import.meta.env } }); // where tests look for it

beforeAll(async () => {
  if (tf.getBackend() === backend) return; // files share an engine
  nameWasmFiles();
  tf.env().set('PROD', true);
  // Small tensors too are computed on the device.
  if (backend === 'webgpu') tf.env().set('WEBGPU_CPU_FORWARD', false);
  if (backend === 'webgl') tf.env().set('WEBGL_CPU_FORWARD', false);
  if (process.env.POLYHEAD_HALF_FLOATS) tf.env().set('WEBGL_RENDER_FLOAT32_ENABLED', false);
  await tf.setBackend(backend);
  expect(tf.getBackend()).toBe(backend);
  guardDevice();
});

failOnRefusals();
beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());
