// Which masks hide keys, and which do not.
import { causal } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import * as tfl from '@tensorflow/tfjs-layers';
import { describe, expect, it } from 'vitest';
import { E, expectSame, multiHead, normal, S } from './fixtures/models';

import { AttentionLayer, BlockLayer, EmbeddingLayer } from './index';

describe('padding', () => {
  const tokens = () =>
    tf.tensor2d(
      [
        [4, 2, 5, 0, 0],
        [1, 2, 3, 4, 5],
      ],
      [2, S],
      'int32',
    );
  const other = () =>
    tf.tensor2d(
      [
        [4, 2, 5, 3, 3],
        [1, 2, 3, 4, 5],
      ],
      [2, S],
      'int32',
    );
  const embedding = (maskZero: boolean) =>
    new EmbeddingLayer({
      embedding: { kind: 'Embedding', config: { vocabularySize: 6, embedDim: E } },
      maskZero,
    });
  const rows = (model: tfl.LayersModel, ...inputs: tf.Tensor[]) => {
    const output = model.predict(inputs.length > 1 ? inputs : inputs[0]!) as tf.Tensor;
    return tf.slice(output, [0, 0, 0], [1, 3, -1]).arraySync();
  };

  it('of an embedding hides keys', () => {
    const input = tfl.input({ shape: [null], dtype: 'int32' });
    const embedded = embedding(true).apply(input);
    const outputs = new AttentionLayer({ attention: multiHead }).apply(embedded) as tfl.SymbolicTensor;
    const model = tfl.model({ inputs: input, outputs });
    const short = tf.slice(tokens(), [0, 0], [1, 3]);
    const [padded, unpadded] = [
      rows(model, tokens()),
      (model.predict(short) as tf.Tensor).arraySync(),
    ] as number[][][][];
    padded!.flat(2).forEach((value, n) => {
      expect(value).toBeCloseTo(unpadded!.flat(2)[n]!, 5);
    });
  });

  it('of another branch does not', () => {
    const [one, two] = [tfl.input({ shape: [S], dtype: 'int32' }), tfl.input({ shape: [S], dtype: 'int32' })];
    const masked = new AttentionLayer({ attention: multiHead }).apply(embedding(true).apply(one));
    const own = new AttentionLayer({ attention: multiHead }).apply(embedding(false).apply(two));
    const seen: unknown[] = [];
    (own as tfl.SymbolicTensor).sourceLayer.setCallHook((_, kwargs) => seen.push(kwargs.mask?.shape));
    const outputs = tfl.layers.add().apply([own, masked] as tfl.SymbolicTensor[]) as tfl.SymbolicTensor;
    const model = tfl.model({ inputs: [one, two], outputs: [outputs, own as tfl.SymbolicTensor] });
    const [, withMask] = model.predict([tokens(), other()]) as tf.Tensor[];
    const [, without] = model.predict([other(), other()]) as tf.Tensor[];
    expect(seen[0]).toEqual([2, S]); // tfjs did hand the other branch's on
    expect(withMask!.dataSync()).toEqual(without!.dataSync());
  });

  it('of the query is not used for keys, and an input of masks is', async () => {
    const [one, two] = [tfl.input({ shape: [S], dtype: 'int32' }), tfl.input({ shape: [S, E] })];
    const mask = tfl.input({ shape: [S] });
    const query = embedding(true).apply(one) as tfl.SymbolicTensor;
    const layer = new AttentionLayer({ attention: multiHead, inputs: ['query', 'key', 'keys'] });
    const model = tfl.model({ inputs: [one, two, mask], outputs: layer.apply([query, two, mask]) as never });
    const keys = normal([2, S, E], 7);
    const shown = tf.tensor2d([
      [1, 0, 1, 1, 0],
      [1, 1, 1, 1, 1],
    ]);
    const changed = tf.add(keys, tf.reshape(tf.mul(tf.sub(1, shown), 100), [2, S, 1]));
    const [a, b] = [keys, changed].map((k) => rows(model, tokens(), k, shown));
    expect(a).toEqual(b);
    expect(rows(model, tokens(), keys, tf.onesLike(shown))).not.toEqual(a);
    await expectSame(model, [tokens(), keys, shown]);
  });

  it('of pairs', () => {
    const [x, pairs] = [tfl.input({ shape: [S, E] }), tfl.input({ shape: [S, S] })];
    const layer = new AttentionLayer({ attention: multiHead, inputs: ['query', 'pairs'] });
    const model = tfl.model({ inputs: [x, pairs], outputs: layer.apply([x, pairs]) as never });
    const lower = tf.linalg.bandPart(tf.ones([2, S, S]), -1, 0);
    const plain = new AttentionLayer({ attention: { ...multiHead }, mask: causal() });
    const tensor = normal([2, S, E], 9);
    plain.apply(tensor);
    plain.setWeights(layer.getWeights());
    const wanted = (plain.apply(tensor) as tf.Tensor).dataSync();
    const actual = (model.predict([tensor, lower]) as tf.Tensor).dataSync();
    actual.forEach((value, n) => {
      expect(value).toBeCloseTo(wanted[n]!, 5);
    });
  });

  it('of a memory, in a block', () => {
    const block = {
      kind: 'TransformerBlock',
      config: { norm: { kind: 'layer' }, feedForward: { hiddenDim: 12 } },
      parts: { attention: multiHead, crossAttention: multiHead },
    };
    const [x, memory, shown] = [[S, E], [3, 6], [3]].map((shape) => tfl.input({ shape }));
    const layer = new BlockLayer({ block, inputs: ['x', 'memory', 'memoryKeys'] });
    const outputs = layer.apply([x!, memory!, shown!]) as tfl.SymbolicTensor;
    const model = tfl.model({ inputs: [x!, memory!, shown!], outputs });
    const [tensor, rows3] = [normal([1, S, E], 1), normal([1, 3, 6], 2)];
    const mask = tf.tensor2d([[1, 1, 0]]);
    const changed = tf.add(rows3, tf.reshape(tf.mul(tf.sub(1, mask), 9), [1, 3, 1]));
    const [a, b] = [rows3, changed].map((m) => (model.predict([tensor, m, mask]) as tf.Tensor).dataSync());
    expect(a).toEqual(b);
  });
});
