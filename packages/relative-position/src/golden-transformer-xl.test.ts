// What transformers computes for Transformer-XL and for Conformer.
import {
  expectClose,
  fromLinears,
  golden,
  goldenCases,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { causal, dense } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import file from './fixtures/hugging-face-transformer-xl.json';
import { transformerXL } from './index';

/** Transformer-XL. Memories are keys: `layer.apply({ query: x, key: tf.concat([memories, x], 1) }, { mask: causal() })`. */
function transformerXLAttention({ embedDim, numHeads, headDim }: TransformerXLSizes) {
  const position = transformerXL({ embedDim, numHeads, headDim });
  return { position, layer: new MultiHeadAttention({ embedDim, numHeads, headDim }, { position }) };
}

interface TransformerXLSizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly headDim: number;
}

interface TransformerXLParams {
  readonly num_heads: number;
  readonly d_head?: number;
  readonly d_model?: number;
  readonly hidden_size?: number;
  readonly mlen?: number;
}

const cases = goldenCases<TransformerXLParams>(file);
const transformerXLCases = [...cases.values()].filter(({ name }) => name.startsWith('transfo'));

describe('transformerXL gives what transformers gives', () => {
  it.each(transformerXLCases)('$name', ({ params, inputs, outputs }) => {
    const { num_heads: numHeads, d_head: headDim = 0, d_model: embedDim = 0 } = params;
    const { layer, position } = transformerXLAttention({ embedDim, numHeads, headDim });
    const { 'r/kernel': kernel } = toTensors(fromLinears(inputs, { r: 'r_net' }));
    position.setWeights({
      kernel: kernel!,
      contentBias: toTensor(golden(inputs, 'r_w_bias')),
      positionBias: toTensor(golden(inputs, 'r_r_bias')),
    });
    const width = numHeads * headDim;
    const rows = (part: number) => Array.from({ length: width }, (_, row) => part * width + row);
    const fused = (part: number) => ({ name: 'qkv_net', rows: rows(part) });
    layer.setWeights(
      toTensors(fromLinears(inputs, { query: fused(0), key: fused(1), value: fused(2), output: 'o_net' })),
    );
    // Time comes first there.
    const batchFirst = (name: string) =>
      tf.transpose(toTensor(golden(inputs, name)), [1, 0, 2]) as tf.Tensor3D;
    const query = batchFirst('w');
    const key = inputs.mems ? tf.concat([batchFirst('mems'), query], 1) : query;
    const allowed = dense(tf.cast(toTensor(golden(inputs, 'mask')), 'bool'));
    for (const mask of [allowed, causal()]) {
      const { output, weights } = layer.apply({ query, key }, { mask, returns: ['weights'] });
      expectClose({
        actual: { output: toHost(tf.transpose(output, [1, 0, 2])), weights: toHost(weights!) },
        expected: {
          output: golden(outputs, 'attn_out').data,
          weights: golden(outputs, 'attn_prob_bhqk').data,
        },
      });
    }
    layer.dispose();
    position.dispose();
  });

  it('of Conformer, which sees both ways: conformer_relative', () => {
    const { params, inputs, outputs } = cases.get('conformer_relative')!;
    const { num_heads: heads, hidden_size: embedDim = 0 } = params;
    const position = transformerXL({ numHeads: heads, headDim: embedDim / heads, interleaved: true });
    const { 'pos/kernel': kernel } = toTensors(fromLinears(inputs, { pos: 'linear_pos' }));
    position.setWeights({
      kernel: kernel!,
      contentBias: toTensor(golden(inputs, 'pos_bias_u')),
      positionBias: toTensor(golden(inputs, 'pos_bias_v')),
    });
    const layer = new MultiHeadAttention({ embedDim, numHeads: heads, useBias: true }, { position });
    const linears = { query: 'linear_q', key: 'linear_k', value: 'linear_v', output: 'linear_out' };
    layer.setWeights(toTensors(fromLinears(inputs, linears)));
    const query = toTensor(golden(inputs, 'hidden_states')) as tf.Tensor3D;
    const { output, weights } = layer.apply({ query }, { returns: ['weights'] });
    expectClose({
      actual: { output: toHost(output), weights: toHost(weights!) },
      expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
    });
    layer.dispose();
    position.dispose();
  });
});
