import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { readEnvironment } from './environment';

it('names what ran: TensorFlow.js, Node, processor and, in a checkout, the commit', () => {
  const { tfjs, node, cpu, cores, commit } = readEnvironment();
  expect({ tfjs, node }).toEqual({ tfjs: tf.version_core, node: process.version });
  expect(cpu).not.toBe('');
  expect(cores).toBeGreaterThan(0);
  expect(commit ?? 'abcdef0').toMatch(/^[0-9a-f]{7,}\+?$/);
});
