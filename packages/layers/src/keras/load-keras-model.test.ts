// Forms in which models and weights come, and what is refused by name.
import { readFileSync } from 'node:fs';
import { type ConfigError, isAttentionError } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import * as tfl from '@tensorflow/tfjs-layers';
import { describe, expect, it } from 'vitest';
import { type KerasWeight, type KerasWeights, loadKerasModel } from '../index';

// biome-ignore lint/suspicious/noExplicitAny: tests change any entry of a topology
type Json = Record<string, any>;

interface Golden {
  readonly topology: Json;
  readonly weights: readonly KerasWeight[];
  readonly inputs: readonly KerasWeight[];
  readonly outputs: readonly KerasWeight[];
}

const golden = (name: string): Golden =>
  JSON.parse(readFileSync(new URL(`../fixtures/keras/${name}.json`, import.meta.url), 'utf8'));
const variants = [MultiHeadAttention, GroupedQueryAttention];
const shape = golden('keras3-output-shape');
const tensors = (list: readonly KerasWeight[]) =>
  list.map(({ data, shape, dtype }) => tf.tensor(Array.from(data), [...shape], dtype as 'float32'));

function outputOf(model: tfl.LayersModel, { inputs }: Golden): number[] {
  return Array.from((model.predict(tensors(inputs)) as tf.Tensor).dataSync());
}

describe('weights may be', () => {
  const { weights } = shape;
  const specs = weights.map(({ name, shape }) => ({ name, shape: [...shape], dtype: 'float32' as const }));
  const bytes = weights.map(({ data }) => Float32Array.from(data).buffer);
  const all = tf.io.concatenateArrayBuffers(bytes as ArrayBuffer[]);
  const half = Math.floor(all.byteLength / 8) * 4;
  const manifest = [
    { paths: ['one.bin', 'two.bin'], weights: specs.slice(0, 3) },
    { paths: ['three.bin'], weights: specs.slice(3) },
  ];
  const file = { modelTopology: { model_config: shape.topology }, weightsManifest: manifest };
  const cuts = [all.slice(0, half), all.slice(half, half + 4), all.slice(half + 4)] as const;
  const [one, two, three] = cuts;
  it.each<[string, Json | string, KerasWeights | (() => KerasWeights)]>([
    ['a list', shape.topology, weights],
    [
      'a list in another order, below a prefix',
      shape.topology,
      weights.map((w) => ({ ...w, name: `model/m/${w.name}:0` })).reverse(),
    ],
    [
      'tensors by name',
      shape.topology,
      () => Object.fromEntries(tensors(weights).map((t, n) => [weights[n]!.name, t])),
    ],
    [
      'numbers by name',
      JSON.stringify(shape.topology),
      Object.fromEntries(weights.map(({ name, ...w }) => [name, w])),
    ],
    ['what tf.io loads', shape.topology, { weightSpecs: specs, weightData: all }],
    ['bytes', file, all],
    ['bytes of files', JSON.stringify(file), [new Uint8Array(one), two, three]],
    ['files by path', file, { 'three.bin': three, 'one.bin': one, 'two.bin': two }],
  ])('%s', async (_, json, weights) => {
    const model = await loadKerasModel(json, typeof weights === 'function' ? weights() : weights, {
      variants,
    });
    const wanted = shape.outputs[0]!.data;
    outputOf(model, shape).forEach((value, n) => {
      expect(value).toBeCloseTo(wanted[n]!, 4);
    });
    model.dispose();
  });
});

it.each(['keras2-seq2seq', 'keras3-nested', 'keras3-gqa', 'keras2-pooled', 'keras3-masking'])(
  'what is loaded saves, loads and trains: %s',
  async (name) => {
    const file = golden(name);
    const model = await loadKerasModel(file.topology, file.weights, { variants });
    let saved: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler(async (artifacts) => {
        saved = artifacts;
        return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } };
      }),
    );
    const modelTopology = JSON.parse(JSON.stringify(saved!.modelTopology));
    const again = await tfl.loadLayersModel({ load: async () => ({ ...saved!, modelTopology }) });
    const inputs = tensors(file.inputs);
    const numbers = (m: tfl.LayersModel) => [m.predict(inputs)].flat().map((x) => x.dataSync());
    const before = numbers(model);
    expect(numbers(again)).toEqual(before);
    // On wasm tfjs has no gradient of an embedding.
    if (!name.includes('pooled') || tf.getBackend() === 'wasm') return;
    model.compile({ optimizer: tf.train.sgd(0.1), loss: 'categoricalCrossentropy' });
    await model.fit(
      inputs,
      tf.tensor2d([
        [1, 0],
        [0, 1],
      ]),
      { epochs: 2, verbose: 0 },
    );
    expect(numbers(model)).not.toEqual(before);
  },
);

it("a class of one's own is found by the name that Keras 2 registers it by", async () => {
  class Twice extends tfl.layers.Layer {
    static readonly className = 'Twice';
    override call(x: tf.Tensor | tf.Tensor[]) {
      return tf.mul([x].flat()[0]!, 2);
    }
  }
  tf.serialization.registerClass(Twice as never, 'tests');
  const file = golden('keras2-output-shape');
  const { config } = file.topology;
  const [last] = config.output_layers;
  config.layers.push({
    class_name: 'tests>Twice',
    config: { name: 'twice' },
    name: 'twice',
    inbound_nodes: [[[...last, {}]]],
  });
  config.output_layers = [['twice', 0, 0]];
  const model = await loadKerasModel(file.topology, file.weights, { variants });
  outputOf(model, file).forEach((value, n) => {
    expect(value).toBeCloseTo(2 * file.outputs[0]!.data[n]!, 4);
  });
  model.dispose();
});

describe('what is refused, by name:', () => {
  const changed = (name: string, change: (layers: Json[], topology: Json) => void) => {
    const file = golden(name);
    change(file.topology.config.layers, file.topology);
    return file;
  };
  const layer = (layers: Json[], name: string) => layers.find((one) => one.config.name === name)!;
  const set = (name: string, option: string, value: unknown) => (layers: Json[]) => {
    layer(layers, name).config[option] = value;
  };
  it.each<[string, Golden, RegExp]>([
    [
      'a class that tfjs has not',
      changed('keras3-output-shape', (l) => {
        l.at(-1)!.class_name = 'PositionBook';
      }),
      /PositionBook/,
    ],
    [
      'an option',
      changed('keras3-output-shape', set('m', 'use_gate', true)),
      /MultiHeadAttention "m"[\s\S]*use_gate is true/,
    ],
    [
      'a regularizer',
      changed('keras2-output-shape', set('m', 'kernel_regularizer', { class_name: 'L2' })),
      /kernel_regularizer/,
    ],
    [
      'an output of several axes',
      changed('keras3-output-shape', set('m', 'output_shape', [2, 3])),
      /output_shape has 2 axes/,
    ],
    [
      'an operation',
      changed('keras2-plus', (l) => {
        l.find((one) => one.class_name === 'TFOpLambda')!.config.function = 'math.erf';
      }),
      /math\.erf/,
    ],
    [
      'an argument',
      changed('keras3-output-shape', (l) => {
        l.at(-1)!.inbound_nodes[0].kwargs = { use_magic: true };
      }),
      /use_magic/,
    ],
    [
      'a tensor that nobody gives',
      changed('keras3-output-shape', (l) => {
        l.at(-1)!.inbound_nodes[0].args[0].config.keras_history[0] = 'nobody';
      }),
      /nobody/,
    ],
    [
      'a model that is no graph',
      { ...shape, topology: { class_name: 'Transformer', config: {} } },
      /functional or sequential[\s\S]*Transformer/,
    ],
    [
      'an activation that tfjs has not',
      changed('keras3-addpos', set('o', 'activation', 'leaky_relu')),
      /Dense "o"[\s\S]*leaky_relu/,
    ],
    [
      'an activation that is another in Keras 3',
      changed('keras3-addpos', set('o', 'activation', 'hard_sigmoid')),
      /Dense "o"[\s\S]*hard_sigmoid of Keras 3/,
    ],
    [
      'an option that tfjs passes over',
      changed('keras3-addpos', set('o', 'lora_rank', 2)),
      /Dense "o"[\s\S]*lora_rank is 2, which tfjs passes over/,
    ],
    [
      'a regularizer that tfjs has not',
      changed('keras2-addpos', set('o', 'kernel_regularizer', { class_name: 'Own', config: {} })),
      /Dense "o"[\s\S]*kernel_regularizer is Own/,
    ],
    [
      'regularizers of outputs',
      changed('keras2-addpos', set('o', 'activity_regularizer', { class_name: 'L2', config: { l2: 1 } })),
      /Dense "o"[\s\S]*regularizers of outputs/,
    ],
    [
      "a class of another's that has the name of one of Keras",
      changed('keras2-output-shape', (l) => {
        l.at(-1)!.class_name = 'Addons>MultiHeadAttention';
        l.at(-1)!.module = 'addons.layers';
      }),
      /Addons>MultiHeadAttention "m" cannot be loaded/,
    ],
    ['a GRU that tfjs has not', changed('keras3-lstm', set('l', 'reset_after', true)), /reset_after/],
    ['missing weights', { ...shape, weights: shape.weights.slice(1) }, /missing[\s\S]*m\/query\/kernel/],
    [
      'unknown weights',
      { ...shape, weights: [...shape.weights, { name: 'x/y', shape: [1], data: [1] }] },
      /unknown[\s\S]*x\/y/,
    ],
    [
      'misshapen weights',
      { ...shape, weights: shape.weights.map((w) => ({ ...w, shape: [w.data.length] })) },
      /shape of its variable/,
    ],
  ])('%s', async (_, { topology, weights }, message) => {
    const { numTensors } = tf.memory();
    const error = await loadKerasModel(topology, weights, { variants }).catch((e) => e as ConfigError);
    expect((error as Error).message).toMatch(message);
    expect(isAttentionError(error)).toBe(true);
    expect(tf.memory().numTensors).toBe(numTensors);
  });

  it('a variant that is not given', async () => {
    const { topology, weights } = golden('keras3-grouped');
    const load = loadKerasModel(topology, weights, { variants: [MultiHeadAttention] });
    await expect(load).rejects.toThrow(/pass the export GroupedQueryAttention in variants[\s\S]*attention/);
  });

  it('bytes without a manifest', async () => {
    await expect(loadKerasModel(shape.topology, new Uint8Array(4), { variants })).rejects.toThrow(
      /weightsManifest/,
    );
  });
});
