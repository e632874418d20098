// What cannot be, by name.
import { ConfigError, causal, type Mask } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { E, multiHead, S, sequential } from './fixtures/models';

import { AttentionLayer, BlockLayer, EmbeddingLayer, PartLayer, registerLayers } from './index';

describe('what is refused', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['no attention', () => new AttentionLayer({}), /attention must be given/],
    ['no block', () => new BlockLayer({}), /block must be given/],
    ['no part', () => new PartLayer({}), /part must be given/],
    ['no embedding', () => new EmbeddingLayer({}), /embedding must be given/],
    [
      'a kind that is not registered',
      () =>
        new AttentionLayer({ attention: { kind: 'Own', config: {} }, inputShape: [S, E] }).apply(
          tf.ones([1, S, E]),
        ),
      /registerLayers with the export that makes "Own".*/,
    ],
    [
      'inputs that are not named',
      () =>
        new AttentionLayer({ attention: multiHead, inputs: ['query'] }).apply([
          tf.ones([1, S, E]),
          tf.ones([1, S, E]),
        ]),
      /inputs must name each input/,
    ],
    [
      'no query',
      () => new AttentionLayer({ attention: multiHead, inputs: ['key'] }).apply(tf.ones([1, S, E])),
      /one of the inputs must be the query/,
    ],
    [
      'a mask over two axes',
      () =>
        new AttentionLayer({ attention: multiHead, mask: causal(), axes: [1, 2] }).apply(
          tf.ones([1, 2, 3, E]),
        ),
      /no mask and no weights/,
    ],
    ['two exports of one kind', () => registerLayers([{ kind: 'rotary', parameters: [] }]), /one kind/],
    ['what has no kind', () => registerLayers([{} as never]), /must have a kind/],
  ])('%s', (_, call, message) => {
    expect(call).toThrow(ConfigError);
    expect(call).toThrow(message);
  });

  it('variables of two layers', () => {
    const attention = new MultiHeadAttention({ embedDim: E, numHeads: 2 });
    sequential(new AttentionLayer({ attention, inputShape: [S, E] }));
    expect(() => sequential(new AttentionLayer({ attention, inputShape: [S, E] }))).toThrow(
      /belongs to one layer/,
    );
  });

  it('masks of other ranks', () => {
    const layer = new AttentionLayer({ attention: multiHead, inputs: ['query', 'keys'] });
    expect(() => layer.apply([tf.ones([1, S, E]), tf.ones([S])])).toThrow(/must be \[B, Skv\]/);
  });

  it('to save a mask that is a tensor', () => {
    const mask: Mask = { ...causal(), toJSON: undefined as never };
    const layer = new AttentionLayer({ attention: multiHead, mask });
    expect(() => layer.getConfig()).toThrow();
  });
});
