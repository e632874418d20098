// WebGPU in Node. The environment names the driver: that a worker sets counts for nothing.
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { startWebGPU } from '../backends/webgpu';
import { failOnRefusals, guardDevice } from './guard';

beforeAll(async () => {
  if (tf.getBackend() === 'webgpu') return; // files share an engine
  tf.env().set('PROD', true);
  expect(await startWebGPU()).toHaveProperty('device');
  tf.env().set('WEBGPU_CPU_FORWARD', false); // small tensors too are computed on the device
  guardDevice();
});

failOnRefusals();
beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());
