// Golden cases of Keras' attention layers: a variant from the same weights, its gradients, and the oracle of layers.
import {
  type Attention,
  allOf,
  causal,
  dense,
  type LayerCall,
  type LayerInputs,
  type Mask,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectClose } from './expect-close';
import { type GoldenCase, golden, goldenCases } from './golden';
import { tabulate } from './inputs';
import { type Numbers, toTensor } from './kernel-run';
import type { LayerConfig } from './layer-case';
import { layerOracle } from './layer-oracle';
import { layerGradients, layerNumbers } from './layer-run';
import { entryAt, type HostTensor } from './oracle';

interface KerasParams {
  readonly layer: string;
  readonly num_heads: number;
  readonly num_kv_heads?: number;
  readonly key_dim: number;
  readonly value_dim?: number;
  readonly use_bias?: boolean;
  readonly use_causal_mask?: boolean;
  readonly output_shape?: number | null;
  readonly weights_order: readonly string[];
  readonly count_params?: number;
}

type KerasCase = GoldenCase<KerasParams>;
type Arrays = { readonly [name: string]: HostTensor };
type CreateLayer = (config: LayerConfig) => Attention;

/** @param file a fixture of `keras.layers.MultiHeadAttention` or `GroupQueryAttention` */
export function describeKeras(file: unknown, create: CreateLayer): void {
  const cases = [...goldenCases<KerasParams>(file).values()];
  const { layer } = cases[0]!.params;

  describe(`the layer gives what keras.layers.${layer} gives`, () => {
    it.each(cases)('$name', async (testCase) => {
      const { output, weights } = await layerNumbers(layerOf(testCase, create), tensorsOf(testCase), {
        ...callOf(testCase),
        returns: ['weights'],
      });
      expectClose({ actual: { output: output!, weights: weights! }, expected: expectedOf(testCase) });
    });

    it.each(cases.filter(({ inputs }) => inputs.cotangent))('$name: gradients', async (testCase) => {
      const gradient = (name: string) => golden(testCase.outputs, `grad_${name}`);
      const ofWeights = Object.fromEntries(
        testCase.params.weights_order.map((name) => [name, gradient(name)]),
      );
      // Keras takes the value for the key where none is given: one gradient for both.
      const value = toTensor(golden(testCase.inputs, 'value')) as tf.Tensor3D;
      const query = toTensor(golden(testCase.inputs, 'query')) as tf.Tensor3D;
      expectClose({
        actual: await layerGradients(layerOf(testCase, create), {
          inputs: { query, key: value },
          call: callOf(testCase),
          cotangents: { output: golden(testCase.inputs, 'cotangent').data },
        }),
        expected: dataOf({ query: gradient('query'), key: gradient('value'), ...ourWeights(ofWeights) }),
        isGradient: true,
      });
    });

    it.each(cases.filter(({ params }) => params.count_params))('$name: number of parameters', (testCase) => {
      const sizes = layerOf(testCase, create).variables.map(({ variable }) => variable.size);
      expect(sizes.reduce((total, size) => total + size, 0)).toBe(testCase.params.count_params);
    });
  });

  describe(`the oracle of layers gives what keras.layers.${layer} gives`, () => {
    it.each(cases)('$name', (testCase) => {
      const { output, weights } = layerOracle({
        config: configOf(testCase),
        weights: ourWeights(testCase.inputs),
        ...arraysOf(testCase),
        isVisible: (b, h, i, j) => masksOf(testCase).every((mask) => entryAt(mask, [b, h, i, j]) === 1),
      });
      expectClose({ actual: { output, weights }, expected: expectedOf(testCase) });
    });
  });
}

function configOf({ params, inputs }: KerasCase): LayerConfig {
  const query = golden(inputs, 'query');
  const { value = query, key = value } = inputs;
  return {
    embedDim: query.shape[2]!,
    numHeads: params.num_heads,
    ...(params.layer === 'GroupQueryAttention' && { numKeyValueHeads: params.num_kv_heads! }),
    headDim: params.key_dim,
    valueHeadDim: params.value_dim ?? params.key_dim,
    keyEmbedDim: key.shape[2]!,
    valueEmbedDim: value.shape[2]!,
    useBias: params.use_bias ?? true,
    ...(params.output_shape && { outputDim: params.output_shape }),
  };
}

function layerOf(testCase: KerasCase, create: CreateLayer): Attention {
  const layer = create(configOf(testCase));
  const weights = Object.entries(ourWeights(testCase.inputs)).map(([name, array]) => [name, toTensor(array)]);
  layer.setWeights(Object.fromEntries(weights));
  return layer;
}

/** Keras keeps heads as an axis of their own, [E, H, D] and [H, Dv, out], which lie as the matrices here do. */
function ourWeights(keras: Arrays): Arrays {
  const named = Object.entries(keras).filter(([name]) => name.includes('/'));
  return Object.fromEntries(
    named.map(([name, { shape, data }]) => {
      const isOutput = name.startsWith('attention_output/');
      const kernel = isOutput ? [shape[0]! * shape[1]!, shape[2]!] : [shape[0]!, shape[1]! * shape[2]!];
      const ours = name.replace('attention_output/', 'output/');
      return [ours, { shape: name.endsWith('/bias') ? [data.length] : kernel, data }];
    }),
  );
}

/** Keras' order is query, value, key; without a key the value serves, without both the query. */
function arraysOf({ inputs }: KerasCase): { query: HostTensor; key?: HostTensor; value?: HostTensor } {
  const { query, value, key = value } = inputs;
  return { query: query!, ...(key && { key }), ...(value && value !== key && { value }) };
}

function tensorsOf(testCase: KerasCase): LayerInputs {
  return Object.fromEntries(
    Object.entries(arraysOf(testCase)).map(([name, array]) => [name, toTensor(array)]),
  ) as never;
}

/** All that hides pairs, as [B | 1, 1, Sq | 1, Skv | 1]. */
function masksOf({ inputs, params }: KerasCase): readonly HostTensor[] {
  const { query, value = query, attention_mask: pairs, query_mask: ofQueries, value_mask: ofKeys } = inputs;
  const [B, Sq, Skv] = [query!.shape[0]!, query!.shape[1]!, value!.shape[1]!];
  return [
    ...(pairs ? [{ shape: [B, 1, Sq, Skv], data: pairs.data }] : []),
    ...(ofQueries ? [{ shape: [B, 1, Sq, 1], data: ofQueries.data }] : []),
    ...(ofKeys ? [{ shape: [B, 1, 1, Skv], data: ofKeys.data }] : []),
    // Keras' diagonal starts at the first query and key.
    ...(params.use_causal_mask ? [tabulate([1, 1, Sq, Skv], (_b, _h, i, j) => Number(j <= i))] : []),
  ];
}

function callOf(testCase: KerasCase): LayerCall {
  const { use_causal_mask: isCausal } = testCase.params;
  const tensors = isCausal ? masksOf(testCase).slice(0, -1) : masksOf(testCase);
  const masks: Mask[] = tensors.map((mask) => dense(tf.cast(toTensor(mask), 'bool')));
  if (isCausal) masks.push(causal());
  return { mask: allOf(...masks), ...(isCausal && { queryStart: 0 }) };
}

/** Keras' answer where weights are asked for; without them its masked rows are the mean of the values. */
function expectedOf({ outputs }: KerasCase): Numbers {
  return { output: golden(outputs, 'out').data, weights: golden(outputs, 'scores').data };
}

function dataOf(arrays: Arrays): Numbers {
  return Object.fromEntries(Object.entries(arrays).map(([name, { data }]) => [name, data]));
}
