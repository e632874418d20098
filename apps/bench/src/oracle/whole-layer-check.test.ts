import { layerOracle } from '@polyhead/conformance/oracle';
import { composed } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { positions } from '../axes/positions';
import { checkedError, checkGradients, checkWholeLayer, type WholeLayer } from './whole-layer-check';

const config = { embedDim: 16, numHeads: 2, seed: 1 };
const what = 'it';
const parts = { what, kernel: composed(), oracle: layerOracle };

it.each(positions)('finds $name right, gradients too, and leaves nothing behind', (compared) => {
  const before = tf.memory().numTensors;
  const { position, oracle } = compared.create({ ...config, longest: 24 });
  const attention = new MultiHeadAttention(config, { position });
  const layer: WholeLayer = { ...parts, attention, position: oracle };
  expect(checkWholeLayer(layer)).toBeLessThan(1e-5);
  expect(checkGradients(layer)).toBeLessThan(1e-5);
  const { position: _, ...without } = layer;
  expect(() => checkWholeLayer(without)).toThrow('it, 8 tokens against doubles: the output is off by');
  attention.dispose();
  position.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

it('finds gradients wrong that miss a part', () => {
  const attention = new GroupedQueryAttention({ ...config, numKeyValueHeads: 1, useBias: true });
  const layer = { ...parts, attention };
  expect(checkGradients(layer)).toBeLessThan(1e-5);
  // The definition has a scale of its own: its loss has another slope.
  const other: WholeLayer = {
    ...layer,
    oracle: (inputs) => layerOracle({ ...inputs, config: { ...inputs.config, scale: 0.5 } }),
  };
  expect(() => checkGradients(other)).toThrow(
    'it, gradients against differences in doubles: the output is off by',
  );
  attention.dispose();
});

it('takes what float32 explains, and no more', () => {
  expect(checkedError('one', [1, 2], [1, 2])).toBe(0);
  expect(() => checkedError('one', [1, 2.1], [1, 2])).toThrow('one: the output is off by 5.0e-2');
  expect(() => checkedError('one', [1, Number.NaN], [1, 2])).toThrow('a wrong answer is not timed');
});
