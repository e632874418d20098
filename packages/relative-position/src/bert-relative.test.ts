// BERT's relative positions as transformers computes them.
import {
  expectClose,
  fromLinears,
  golden,
  goldenCases,
  layerNumbers,
  toHost,
  tokenByToken,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { causal, dense } from '@polyhead/core';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/hugging-face-bert.json';
import { type BertRelativeConfig, bertRelative } from './index';

/** BERT with `position_embedding_type` relative_key or relative_key_query. */
function bert({ embedDim, numHeads, maxPositions, type }: BertSizes) {
  const position = bertRelative({ headDim: embedDim / numHeads, maxPositions, type });
  return { position, layer: new MultiHeadAttention({ embedDim, numHeads, useBias: true }, { position }) };
}

interface BertSizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly maxPositions: number;
  readonly type: 'relative_key' | 'relative_key_query';
}

interface BertParams {
  readonly position_embedding_type: 'relative_key' | 'relative_key_query';
  readonly hidden_size: number;
  readonly num_heads: number;
  readonly max_position_embeddings: number;
}

describe('bertRelative gives what transformers gives', () => {
  it.each([...goldenCases<BertParams>(file).values()])('$name', async ({ params, inputs, outputs }) => {
    const { hidden_size: embedDim, num_heads: numHeads, max_position_embeddings: maxPositions } = params;
    const type = params.position_embedding_type;
    const { layer, position } = bert({ embedDim, numHeads, maxPositions, type });
    position.setWeights({ table: toTensor(golden(inputs, 'distance_embedding.weight')) });
    layer.setWeights({
      ...toTensors(fromLinears(inputs, { query: 'query', key: 'key', value: 'value' })),
      'output/kernel': tf.eye(embedDim), // the block projects outside of its attention
      'output/bias': tf.zeros([embedDim]),
    });
    const query = toTensor(golden(inputs, 'hidden_states')) as tf.Tensor3D;
    const mask = inputs.mask && dense(tf.cast(toTensor(inputs.mask), 'bool'));
    expectClose({
      actual: await layerNumbers(layer, { query }, { returns: ['weights'], ...(mask && { mask }) }),
      expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
    });
    if (outputs.decode_out) {
      const cache = new GrowingCache(layer.cacheShape(1));
      expectClose({
        actual: { output: toHost(tokenByToken(layer, query, { mask: causal(), cache })) },
        expected: { output: outputs.decode_out.data },
      });
      cache.dispose();
    }
    layer.dispose();
    position.dispose();
  });
});

describe('bertRelative', () => {
  it('names its limit where tokens stand too far apart', () => {
    const position = bertRelative({ headDim: 2, maxPositions: 4 });
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2 }, { position });
    layer.apply({ query: tf.zeros([1, 4, 4]) });
    expect(() => layer.apply({ query: tf.zeros([1, 5, 4]) })).toThrow(
      /less than maxPositions apart\n +maxPositions +4\n +distances +-4 to 4/,
    );
    layer.dispose();
    position.dispose();
  });

  it.each<[object, RegExp]>([
    [{ headDim: 0 }, /headDim must be a whole number above 0/],
    [{ headDim: 2, maxPositions: 0 }, /maxPositions must be a whole number above 0/],
    [{ headDim: 2, type: 'absolute' }, /type must be one of relative_key, relative_key_query/],
    [{ headDim: 2, size: 1 }, /unknown +\[size\]/],
  ])('refuses %j', (config, message) => {
    expect(() => bertRelative(config as BertRelativeConfig)).toThrow(message);
  });
});
