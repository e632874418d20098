// Gradients where there is nothing: an empty batch, or a sequence without tokens.
import { numbersOf } from '@polyhead/conformance';
import type { PositionMethod } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { alibi, bertRelative, deberta, learned, rotary, shaw, t5, transformerXL } from './index';

const methods: readonly (readonly [string, () => PositionMethod | undefined, object])[] = [
  ['rotary', () => rotary({ headDim: 4 }), {}],
  ['alibi', () => alibi({ numHeads: 2, trainable: true }), {}],
  ['t5', () => t5({ numHeads: 2 }), {}],
  ['shaw', () => shaw({ headDim: 4, valueTable: 'own' }), {}],
  ['bertRelative', () => bertRelative({ headDim: 4, type: 'relative_key_query' }), {}],
  ['transformerXL', () => transformerXL({ numHeads: 2, headDim: 4 }), {}],
  ['deberta', () => deberta({ embedDim: 8, numHeads: 2 }), {}],
  ['memory', () => undefined, { numMemoryKeyValues: 2, addZeroAttention: true }],
  ['biases', () => undefined, { useBias: true }],
  ['an output gate', () => undefined, { outputGate: 'head' }],
  ['normalized queries and keys', () => undefined, { queryKeyNorm: { kind: 'layer' } }],
];

/** Sums of nothing are unwritten memory in tfjs on wasm. */
const sumOf = (x: tf.Tensor): tf.Scalar => tf.sum(tf.concat([tf.reshape(x, [-1]), tf.zeros([1])]));

describe.each(methods)('gradients of a layer with %s', (_name, create, config) => {
  it.each([
    [0, 3],
    [2, 0],
    [0, 0],
  ])('are 0 for %i sequences of %i tokens', (B, S) => {
    const position = create();
    const layer = new MultiHeadAttention(
      { embedDim: 8, numHeads: 2, ...config },
      position ? { position } : {},
    );
    const variables = layer.variables.map(({ variable }) => variable);
    const query = tf.zeros<tf.Rank.R3>([B, S, 8]);
    const { value, grads } = tf.variableGrads(() => sumOf(layer.apply({ query }).output), variables);
    expect(numbersOf(value)).toEqual([0]);
    for (const { name, variable } of layer.variables) {
      expect([name, grads[variable.name]!.shape]).toEqual([name, variable.shape]);
      expect(numbersOf(grads[variable.name]!).every((x) => x === 0)).toBe(true);
    }
    layer.dispose();
    position?.dispose();
  });
});

it.each([
  [0, 3],
  [2, 0],
])('gradients of learned positions are 0 for %i sequences of %i tokens', (B, S) => {
  const method = learned({ embedDim: 4, maxPositions: 5 });
  const { variable } = method.variables[0]!;
  const { grads } = tf.variableGrads(() => sumOf(method.addTo(tf.zeros([B, S, 4]))), [variable]);
  expect(numbersOf(grads[variable.name]!)).toEqual(Array(20).fill(0));
  method.dispose();
});
