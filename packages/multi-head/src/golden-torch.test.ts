// torch.nn.MultiheadAttention, from the same weights: the layer, its gradients, and the oracle it is measured against.
import {
  entryAt,
  expectClose,
  type GoldenCase,
  type GoldenTensor,
  golden,
  goldenCases,
  type HostTensor,
  layerGradients,
  layerNumbers,
  layerOracle,
  type Numbers,
  tabulate,
  toTensor,
} from '@polyhead/conformance';
import { allOf, countParameters, dense, type LayerCall, type LayerInputs } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/torch-multi-head.json';
import countFile from './fixtures/torch-parameter-counts.json';
import { MultiHeadAttention, type MultiHeadConfig, variableShapes } from './index';

interface TorchParams {
  readonly embed_dim: number;
  readonly num_heads: number;
  readonly bias?: boolean;
  readonly kdim?: number;
  readonly vdim?: number;
  readonly batch_first?: boolean;
  readonly average_attn_weights?: boolean;
  readonly add_bias_kv?: boolean;
  readonly add_zero_attn?: boolean;
}

type TorchCase = GoldenCase<TorchParams>;
type Tensors = { readonly [name: string]: GoldenTensor };
type Arrays = { readonly [name: string]: HostTensor };

const cases = [...goldenCases<TorchParams>(file).values()];

describe('MultiHeadAttention gives what torch.nn.MultiheadAttention gives', () => {
  it.each(cases)('$name', async (goldenCase) => {
    const layer = layerOf(goldenCase);
    const result = await layerNumbers(layer, tensorsOf(inputsOf(goldenCase)), {
      ...callOf(goldenCase),
      returns: ['weights'],
    });
    expectClose({ actual: asReturned(goldenCase, result), expected: expectedOf(goldenCase) });
  });

  it.each(cases.filter(({ inputs }) => inputs.cotangent))('$name: gradients', async (goldenCase) => {
    const named = Object.entries(goldenCase.outputs).filter(([name]) => name.startsWith('grad_'));
    const gradients = Object.fromEntries(named.map(([name, tensor]) => [name.slice('grad_'.length), tensor]));
    const ofInputs = Object.keys(inputsOf(goldenCase)).map((name) => [name, golden(gradients, name)]);
    expectClose({
      actual: await layerGradients(layerOf(goldenCase), {
        inputs: tensorsOf(inputsOf(goldenCase)),
        call: callOf(goldenCase),
        cotangents: { output: golden(goldenCase.inputs, 'cotangent').data },
      }),
      expected: dataOf({ ...Object.fromEntries(ofInputs), ...ourWeights(gradients) }),
      isGradient: true,
    });
  });
});

describe('the oracle of layers gives what torch.nn.MultiheadAttention gives', () => {
  it.each(cases)('$name', (goldenCase) => {
    const { key_padding_mask: padding, attn_mask: mask } = goldenCase.inputs;
    const { output, weights } = layerOracle({
      config: configOf(goldenCase),
      weights: ourWeights(goldenCase.inputs),
      ...inputsOf(goldenCase),
      ...(mask?.dtype === 'float32' && { bias: biasOf(goldenCase) }),
      isVisible: (b, _h, i, j) =>
        (padding === undefined || entryAt(padding, [b, j]) === 0) &&
        (mask?.dtype !== 'bool' || entryAt(mask, [i, j]) === 0),
    });
    expectClose({ actual: asReturned(goldenCase, { output, weights }), expected: expectedOf(goldenCase) });
  });
});

describe('the number of parameters is that of torch', () => {
  const counts = [...goldenCases<TorchParams>(countFile).values()];

  it.each(counts)('$name', (goldenCase) => {
    expect(countParameters(variableShapes(configOf(goldenCase)))).toBe(
      golden(goldenCase.outputs, 'total').data[0],
    );
  });
});

function configOf({ params }: TorchCase): MultiHeadConfig {
  return {
    embedDim: params.embed_dim,
    numHeads: params.num_heads,
    useBias: params.bias ?? true,
    ...(params.kdim !== undefined && { keyEmbedDim: params.kdim }),
    ...(params.vdim !== undefined && { valueEmbedDim: params.vdim }),
    ...(params.add_bias_kv && { numMemoryKeyValues: 1 }),
    ...(params.add_zero_attn && { addZeroAttention: true }),
  };
}

function layerOf(goldenCase: TorchCase): MultiHeadAttention {
  const layer = new MultiHeadAttention(configOf(goldenCase));
  const weights = Object.entries(ourWeights(goldenCase.inputs)).map(([name, array]) => [
    name,
    toTensor(array),
  ]);
  layer.setWeights(Object.fromEntries(weights));
  return layer;
}

/** Torch keeps [out, in], and the three projections in one matrix where their inputs are equally wide. */
function ourWeights(torch: Tensors): Arrays {
  const E = golden(torch, 'out_proj.weight').shape[0]!;
  const parts = ['query', 'key', 'value'].map((part, n) => ({ part, n }));
  const kernels = parts.map(({ part, n }) => {
    const own = torch[`${part[0]}_proj_weight`] ?? rows(golden(torch, 'in_proj_weight'), n * E, E);
    return [`${part}/kernel`, transposed(own)] as const;
  });
  const packed = torch.in_proj_bias;
  const biases = packed ? parts.map(({ part, n }) => [`${part}/bias`, rows(packed, n * E, E)] as const) : [];
  const outputBias = torch['out_proj.bias'];
  return {
    ...Object.fromEntries([...kernels, ...biases]),
    'output/kernel': transposed(golden(torch, 'out_proj.weight')),
    ...(outputBias && { 'output/bias': outputBias }),
    ...(torch.bias_k && { 'memory/key': { shape: [1, E], data: torch.bias_k.data } }),
    ...(torch.bias_v && { 'memory/value': { shape: [1, E], data: torch.bias_v.data } }),
  };
}

function rows({ shape, data }: HostTensor, from: number, count: number): HostTensor {
  const width = data.length / shape[0]!;
  return { shape: [count, ...shape.slice(1)], data: data.slice(from * width, (from + count) * width) };
}

function transposed({ shape, data }: HostTensor): HostTensor {
  const [out, inputs] = shape as [number, number];
  return tabulate([inputs, out], (i, o) => data[o * inputs + i]!);
}

/** [B, S, E], whatever the layout of the case. */
function batchFirst({ params }: TorchCase, x: HostTensor): HostTensor {
  if (params.batch_first !== false) return x;
  const [S, B, E] = x.shape as [number, number, number];
  return tabulate([B, S, E], (b, s, e) => entryAt(x, [s, b, e]));
}

function inputsOf(goldenCase: TorchCase): { query: HostTensor; key?: HostTensor; value?: HostTensor } {
  const { query, key, value } = goldenCase.inputs;
  return {
    query: batchFirst(goldenCase, query!),
    ...(key && { key: batchFirst(goldenCase, key) }),
    ...(value && { value: batchFirst(goldenCase, value) }),
  };
}

function tensorsOf(arrays: ReturnType<typeof inputsOf>): LayerInputs {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, toTensor(array)])) as never;
}

/** True hides a pair in torch's layer; here it shows one. A float mask is a bias. */
function callOf(goldenCase: TorchCase): LayerCall {
  const { key_padding_mask: padding, attn_mask: mask } = goldenCase.inputs;
  const shown = (x: HostTensor, shape: number[]) =>
    dense(
      tf.tensor(
        Array.from(x.data, (hidden) => 1 - hidden),
        shape,
        'bool',
      ),
    );
  const masks = [
    ...(padding ? [shown(padding, [padding.shape[0]!, 1, 1, padding.shape[1]!])] : []),
    ...(mask?.dtype === 'bool' ? [shown(mask, [...mask.shape])] : []),
  ];
  return {
    ...(masks.length > 0 && { mask: allOf(...masks) }),
    ...(mask?.dtype === 'float32' && { bias: toTensor(biasOf(goldenCase)) as tf.Tensor4D }),
  };
}

/** [B * H, Sq, Skv] as [B, H, Sq, Skv]. */
function biasOf({ inputs, params }: TorchCase): HostTensor {
  const { shape, data } = golden(inputs, 'attn_mask');
  return { shape: [shape[0]! / params.num_heads, params.num_heads, ...shape.slice(1)], data };
}

/** Output, and weights where the case has them: averaged over heads unless it asks otherwise. */
function asReturned(goldenCase: TorchCase, { output, weights }: Numbers): Numbers {
  const { attn_weights: expected } = goldenCase.outputs;
  if (!expected) return { output: output! };
  if (goldenCase.params.average_attn_weights === false) return { output: output!, weights: weights! };
  const [B, Sq, Skv] = expected.shape as [number, number, number];
  const H = goldenCase.params.num_heads;
  const perHead = { shape: [B, H, Sq, Skv], data: weights! };
  const heads = [...Array(H).keys()];
  const mean = tabulate([B, Sq, Skv], (b, i, j) =>
    heads.reduce((sum, h) => sum + entryAt(perHead, [b, h, i, j]) / H, 0),
  );
  return { output: output!, weights: mean.data };
}

/**
 * What torch gives, but for rows that see no key: there `need_weights: true` gives NaN, and `need_weights: false` the bias
 * of the output projection. Here it is always the latter, and weights of 0: returning weights must not change the output.
 */
function expectedOf(goldenCase: TorchCase): Numbers {
  const { out, attn_weights: weights } = goldenCase.outputs;
  const bias = goldenCase.inputs['out_proj.bias'];
  const output = batchFirst(goldenCase, out!).data.map((x, n) =>
    Number.isNaN(x) ? bias!.data[n % bias!.data.length]! : x,
  );
  return { output, ...(weights && { weights: weights.data.map((x) => (Number.isNaN(x) ? 0 : x)) }) };
}

function dataOf(arrays: Arrays): Numbers {
  return Object.fromEntries(Object.entries(arrays).map(([name, { data }]) => [name, data]));
}
