// What cannot be, by name.
import { ConfigError, causal, type Mask } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import * as tfl from '@tensorflow/tfjs-layers';
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
      /no mask and no weights go with them/,
    ],
    [
      'an option that is not known',
      () => new AttentionLayer({ attention: multiHead, kernelRegularizer: 'l2' } as never),
      /AttentionLayer: options may hold known options only[\s\S]*kernelRegularizer/,
    ],
    [
      'roles of inputs that are not known',
      () => new AttentionLayer({ attention: multiHead, inputs: ['query', 'memory'] as never }),
      /inputs must be a list of query, key/,
    ],
    [
      'a flag that is none',
      () => new BlockLayer({ block: { kind: 'x' }, usePadding: 'no' as never }),
      /usePadding/,
    ],
    [
      'a class in place of a layer',
      () => new AttentionLayer({ attention: MultiHeadAttention as never }).apply(tf.ones([1, S, E])),
      /attention must be a variant's layer/,
    ],
    [
      'a config in place of a layer',
      () => new AttentionLayer({ attention: { numHeads: 2 } as never }).apply(tf.ones([1, S, E])),
      /attention must be a variant's layer/,
    ],
    [
      'a mask that is not made',
      () => new AttentionLayer({ attention: multiHead, mask: causal }).apply(tf.ones([1, S, E])),
      /mask must be a mask, such as causal\(\)/,
    ],
    [
      'a width that is not known',
      () => new AttentionLayer({ attention: multiHead }).apply(tfl.input({ shape: [S, null] })),
      /the last axis of an input must have a size/,
    ],
    [
      'axes twice',
      () => new AttentionLayer({ attention: multiHead, axes: [1, 1] }).apply(tf.ones([1, 2, 3, E])),
      /axes must be some between/,
    ],
    [
      'no axes',
      () => new AttentionLayer({ attention: multiHead, axes: [] }).apply(tf.ones([1, 2, 3, E])),
      /axes must be some between/,
    ],
    [
      'an axis of numbers',
      () => new AttentionLayer({ attention: multiHead, axes: [2] }).apply(tf.ones([1, S, E])),
      /axes must be some between/,
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

  it('inputs without tokens', () => {
    const layer = new AttentionLayer({ attention: multiHead });
    expect(() => layer.apply(tfl.input({ shape: [E] }))).toThrow(/query must be \[B, S, E\]/);
  });

  it('one layer for an input with a mask and one without', () => {
    const [one, two] = [tfl.input({ shape: [S], dtype: 'int32' }), tfl.input({ shape: [S, E] })];
    const embedding = new EmbeddingLayer({
      embedding: { kind: 'Embedding', config: { vocabularySize: 6, embedDim: E } },
      maskZero: true,
    });
    const layer = new AttentionLayer({ attention: multiHead });
    const outputs = [layer.apply(embedding.apply(one)), layer.apply(two)] as tfl.SymbolicTensor[];
    const model = tfl.model({ inputs: [one, two], outputs });
    const inputs = [tf.zeros([1, S], 'int32'), tf.ones([1, S, E])];
    expect(() => model.predict(inputs)).toThrow(/some of its inputs have a mask and others not/);
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
