// Every test runs on the backend of its project, with tfjs's gradients registered, inside one engine scope.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { startTensorFlow } from './scripts/backends/tensorflow';

const backend = process.env.POLYHEAD_BACKEND ?? 'cpu';

beforeAll(async () => {
  // Not IS_TEST: its leak check takes what customGrad saves on wasm, which are copies there, for a leak.
  tf.env().set('PROD', true);
  if (backend === 'tensorflow') expect(await startTensorFlow()).toHaveProperty('device');
  await tf.setBackend(backend);
  await tf.ready();
  expect(tf.getBackend()).toBe(backend);
});

beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());
