// Known traps of relative position representations, and what OpenNMT and VITS compute.
import {
  expectClose,
  fromLinears,
  type GoldenCase,
  golden,
  goldenCases,
  layerNumbers,
  numbersOf,
  toHost,
  tokenByToken,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { causal, composed, dense, type PositionMethod } from '@polyhead/core';
import { attendHeads } from '@polyhead/core/layer';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import vitsFile from './fixtures/hugging-face-vits.json';
import openNmtFile from './fixtures/open-nmt-shaw.json';
import { type ShawConfig, shaw } from './index';

/** The row that each pair reads: the table of values holds its own row numbers, and weights pick one key at a time. */
function rowsRead(position: PositionMethod, Sq: number, Skv: number): number[][] {
  const rows = Array.from({ length: Sq }, () => Array<number>(Skv));
  for (let j = 0; j < Skv; j++) {
    const bias = tf.tensor4d(
      Array.from({ length: Skv }, (_, key) => (key === j ? 0 : -Infinity)),
      [1, 1, 1, Skv],
    );
    const { output } = attendHeads({
      query: tf.zeros([1, 1, Sq, 1]),
      key: tf.zeros([1, 1, Skv, 1]),
      value: tf.zeros([1, 1, Skv, 1]),
      cross: Sq !== Skv,
      kernel: composed(),
      position,
      bias,
    });
    numbersOf(output).forEach((row, i) => {
      rows[i]![j] = row;
    });
  }
  return rows;
}

function numbered(maxRelativePosition: number): PositionMethod {
  const position = shaw({ headDim: 1, maxRelativePosition, valueTable: 'own' });
  const rows = tf.reshape(tf.range(0, 2 * maxRelativePosition + 1), [-1, 1]);
  position.setWeights({ keys: tf.zerosLike(rows), values: rows });
  return position;
}

describe('shaw', () => {
  it('H7: clips distances on both sides', () => {
    expect(rowsRead(numbered(2), 4, 4)).toEqual([
      [2, 3, 4, 4],
      [1, 2, 3, 4],
      [0, 1, 2, 3],
      [0, 0, 1, 2],
    ]);
  });

  it('H8: counts from where the query stands when decoding', () => {
    expect(rowsRead(numbered(2), 1, 4)).toEqual([[0, 0, 1, 2]]);
  });

  it('H9: takes 0 for the largest distance: one row for all', () => {
    expect(rowsRead(numbered(0), 3, 3)).toEqual(Array(3).fill([0, 0, 0]));
  });

  it('gives nothing beyond the largest distance where asked', () => {
    const position = shaw({ headDim: 1, maxRelativePosition: 1, valueTable: 'keys', beyond: 'zero' });
    position.setWeights({ keys: tf.tensor2d([[5], [6], [7]]) });
    expect(rowsRead(position, 3, 3)).toEqual([
      [6, 7, 0],
      [5, 6, 7],
      [0, 5, 6],
    ]);
  });

  it.each<[object, RegExp]>([
    [{ headDim: 0 }, /headDim must be a whole number above 0/],
    [{ headDim: 2, maxRelativePosition: -1 }, /maxRelativePosition must be a whole number from 0 on/],
    [{ headDim: 2, valueTable: true }, /valueTable must be one of none, own, keys/],
    [{ headDim: 2, valueHeadDim: 3, valueTable: 'keys' }, /one size to share a table/],
    [{ headDim: 2, seed: 0.1 }, /seed must be a whole number/],
    [{ headDim: 2, clip: 3 }, /unknown +\[clip\]/],
  ])('refuses %j', (config, message) => {
    expect(() => shaw(config as ShawConfig)).toThrow(message);
  });
});

interface ShawParams {
  readonly model_dim?: number;
  readonly hidden_size?: number;
  readonly num_heads: number;
  readonly max_relative_positions?: number;
  readonly window_size?: number;
}

type ShawCase = GoldenCase<ShawParams>;

async function expectGolden({ inputs, outputs }: ShawCase, layer: MultiHeadAttention): Promise<tf.Tensor3D> {
  const query = toTensor(inputs.x ?? golden(inputs, 'hidden_states')) as tf.Tensor3D;
  const masked =
    inputs.masked_out && tf.logicalNot(tf.cast(tf.expandDims(toTensor(inputs.masked_out), 1), 'bool'));
  expectClose({
    actual: await layerNumbers(
      layer,
      { query },
      { returns: ['weights'], ...(masked && { mask: dense(masked) }) },
    ),
    expected: { output: golden(outputs, 'out').data, weights: golden(outputs, 'attn_weights').data },
  });
  return query;
}

describe('shaw gives what OpenNMT gives', () => {
  it.each([...goldenCases<ShawParams>(openNmtFile).values()])('$name', async (goldenCase) => {
    const { model_dim: embedDim = 0, num_heads: numHeads, max_relative_positions: k = 0 } = goldenCase.params;
    const position = shaw({ headDim: embedDim / numHeads, maxRelativePosition: k, valueTable: 'keys' });
    position.setWeights({
      keys: toTensor(golden(goldenCase.inputs, 'relative_positions_embeddings.weight')),
    });
    const layer = new MultiHeadAttention({ embedDim, numHeads, useBias: true }, { position });
    const linears = {
      query: 'linear_query',
      key: 'linear_keys',
      value: 'linear_values',
      output: 'final_linear',
    };
    layer.setWeights(toTensors(fromLinears(goldenCase.inputs, linears)));
    const query = await expectGolden(goldenCase, layer);
    if (goldenCase.outputs.decode_out) {
      const cache = new GrowingCache(layer.cacheShape(1));
      expectClose({
        actual: { output: toHost(tokenByToken(layer, query, { mask: causal(), cache })) },
        expected: { output: goldenCase.outputs.decode_out.data },
      });
      cache.dispose();
    }
    layer.dispose();
    position.dispose();
  });
});

describe('shaw with nothing beyond its window gives what VITS gives', () => {
  it.each([...goldenCases<ShawParams>(vitsFile).values()])('$name', async (goldenCase) => {
    const { hidden_size: embedDim = 0, num_heads: numHeads, window_size: k = 0 } = goldenCase.params;
    const headDim = embedDim / numHeads;
    const position = shaw({ headDim, maxRelativePosition: k, valueTable: 'own', beyond: 'zero' });
    const table = (name: string) => tf.squeeze(toTensor(golden(goldenCase.inputs, name)), [0]);
    position.setWeights({ keys: table('emb_rel_k'), values: table('emb_rel_v') });
    const layer = new MultiHeadAttention({ embedDim, numHeads, useBias: true }, { position });
    const linears = { query: 'q_proj', key: 'k_proj', value: 'v_proj', output: 'out_proj' };
    layer.setWeights(toTensors(fromLinears(goldenCase.inputs, linears)));
    await expectGolden(goldenCase, layer);
    layer.dispose();
    position.dispose();
  });
});
