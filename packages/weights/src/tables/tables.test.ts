// Layers of PyTorch and Keras, saved under their own names and loaded by a table, give what they gave there.
import {
  expectClose,
  type GoldenCase,
  golden,
  goldenCases,
  layerNumbers,
  toTensor,
} from '@polyhead/conformance';
import { type Attention, ConfigError, type LayerInputs } from '@polyhead/core';
import type { WeightTable } from '@polyhead/core/layer';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { describe, expect, it } from 'vitest';
import kerasFile from '../fixtures/keras-attention.json';
import torchFile from '../fixtures/torch-multi-head.json';
import { loadWeights } from '../load/load-weights';
import { readSafetensors } from '../safetensors/read-safetensors';
import { writeSafetensors } from '../safetensors/write-safetensors';
import { kerasAttention } from './keras-attention';
import { torchMultiHead } from './torch-multi-head';

const place = { name: 'block0/attention', prefix: 'layers.0.self_attn.' };
const inputNames = ['query', 'key', 'value'];

/** The weights of a case as a checkpoint of a model, under their names there. */
function checkpointOf<Params>({ inputs }: GoldenCase<Params>) {
  const weights = Object.entries(inputs).filter(([name]) => !inputNames.includes(name));
  return readSafetensors(
    writeSafetensors(
      weights.map(([name, { shape, data }]) => [
        place.prefix + name,
        { shape, numbers: Float32Array.from(data) },
      ]),
    ),
  );
}

async function expectOutput<Params>(
  testCase: GoldenCase<Params>,
  layer: Attention,
  table: WeightTable,
): Promise<void> {
  const report = await loadWeights(layer, await checkpointOf(testCase), table);
  expect(report).toMatchObject({ missing: [], unused: [] });
  const { query, value, key = value } = testCase.inputs;
  const arrays = { query: query!, ...(key && { key }), ...(value && { value }) };
  const inputs = Object.entries(arrays).map(([name, array]) => [name, toTensor(array)]);
  const { output } = await layerNumbers(layer, Object.fromEntries(inputs) as LayerInputs, {});
  expectClose({ actual: { output: output! }, expected: { output: golden(testCase.outputs, 'out').data } });
}

interface TorchParams {
  readonly embed_dim: number;
  readonly num_heads: number;
  readonly bias: boolean;
  readonly kdim: number;
  readonly vdim: number;
  readonly add_bias_kv: boolean;
  readonly add_zero_attn: boolean;
}

describe('torchMultiHead', () => {
  it.each([...goldenCases<TorchParams>(torchFile).values()])('$name', async (testCase) => {
    const { params } = testCase;
    const config = {
      embedDim: params.embed_dim,
      numHeads: params.num_heads,
      keyEmbedDim: params.kdim,
      valueEmbedDim: params.vdim,
      useBias: params.bias,
      numMemoryKeyValues: params.add_bias_kv ? 1 : 0,
      addZeroAttention: params.add_zero_attn,
    };
    const layer = new MultiHeadAttention(config, { name: place.name });
    await expectOutput(testCase, layer, torchMultiHead(config, place));
  });

  it('refuses a layer that PyTorch does not have', () => {
    expect(() => torchMultiHead({ embedDim: 8, numHeads: 2, headDim: 3 })).toThrow(ConfigError);
    expect(() => torchMultiHead({ embedDim: 8, numHeads: 2, outputGate: 'head' })).toThrow(ConfigError);
  });
});

interface KerasParams {
  readonly layer: string;
  readonly num_heads: number;
  readonly num_kv_heads: number;
  readonly key_dim: number;
  readonly value_dim: number;
  readonly use_bias: boolean;
  readonly output_shape: number | null;
}

describe('kerasAttention', () => {
  it.each([...goldenCases<KerasParams>(kerasFile).values()])('$name', async (testCase) => {
    const { params, inputs } = testCase;
    const { query, value = query, key = value } = inputs;
    const config = {
      embedDim: query!.shape[2]!,
      numHeads: params.num_heads,
      headDim: params.key_dim,
      valueHeadDim: params.value_dim,
      keyEmbedDim: key!.shape[2]!,
      valueEmbedDim: value!.shape[2]!,
      useBias: params.use_bias,
      ...(params.output_shape && { outputDim: params.output_shape }),
    };
    const grouped = { ...config, numKeyValueHeads: params.num_kv_heads };
    const parts = { name: place.name };
    const layer =
      params.layer === 'GroupQueryAttention'
        ? new GroupedQueryAttention(grouped, parts)
        : new MultiHeadAttention(config, parts);
    await expectOutput(testCase, layer, kerasAttention(config, place));
  });
});
