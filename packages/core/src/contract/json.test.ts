import * as tf from '@tensorflow/tfjs-core';
import { afterEach, describe, expect, it } from 'vitest';
import { composed } from '../composed/composed';
import { setDefaultKernel } from '../kernel/default-kernel';
import { firstSupported } from '../kernel/first-supported';
import { attendHeads } from '../layer/attend-heads';
import { type AttentionConfig, attentionSizes, projectionShapes } from '../layer/attention-config';
import { AttentionLayer, type AttentionParts } from '../layer/attention-layer';
import { fromConfig, toConfig, withKind } from './json';
import type { AttentionKernel } from './kernel';
import type { LayerCall, LayerInputs, LayerResult, LayerReturn } from './layer';
import type { PositionMethod } from './position';

/** The least a variant can be. */
class Plain extends AttentionLayer<AttentionConfig> {
  static readonly kind = 'Plain';

  constructor(config: AttentionConfig, parts: AttentionParts = {}) {
    const sizes = attentionSizes('Plain', config);
    const starts = { 'sinks/logits': (shape: readonly number[]) => tf.fill([...shape], 0.5) };
    super('Plain', config, parts, { sizes, variables: projectionShapes(sizes), starts });
  }

  override apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call: LayerCall<Returns> = {},
  ): LayerResult<Returns> {
    const { query, key, value, cross, options } = this.checked(inputs, call);
    return tf.tidy(() =>
      attendHeads(
        {
          ...this.scoreOptions(options),
          cross,
          query: this.heads('query', query),
          key: key && this.heads('key', key),
          value: value && this.heads('value', value),
        },
        (heads) => this.merged(heads, query, options),
      ),
    );
  }
}

/** A position method that adds one learned number for each head to all scores of a distance. */
const shift = withKind(
  'shift',
  ['config', 'parts'],
  (config: { heads: number }, parts: { name?: string } = {}): PositionMethod => {
    const variable = tf.variable(tf.ones([config.heads, 1]));
    const { name } = parts;
    return {
      config,
      ...(name !== undefined && { name }),
      variables: [{ name: name ? `${name}/numbers` : 'numbers', variable }],
      tables: () => ({ bias: { table: variable as unknown as tf.Tensor2D, index: { from: 0 } } }),
      dispose: () => variable.dispose(),
      toJSON: () => ({ kind: 'shift', config, ...(name !== undefined && { parts }) }),
    };
  },
);

const again = (value: unknown) => JSON.parse(JSON.stringify(value));
const kinds = [Plain, shift, composed, firstSupported];
const x = () => tf.randomNormal([2, 3, 4], 0, 1, 'float32', 1);
const numbers = (layer: Plain) => [...layer.apply({ query: x() }).output.dataSync()];

describe('a layer as JSON', () => {
  it('leaves nothing where a part cannot be made', () => {
    const good = { kind: 'Plain', config: { embedDim: 4, numHeads: 2 } };
    const bad = { kind: 'Plain', config: { embedDim: 4, numHeads: 3 } };
    const before = tf.memory().numTensors;
    expect(() => fromConfig([good, { first: good, second: bad }], [Plain])).toThrow(/embedDim must divide/);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('holds its config, the seed it drew, its name, its position method and its kernel', () => {
    const position = shift({ heads: 2 });
    const kernel = firstSupported([composed()]);
    const layer = new Plain({ embedDim: 4, numHeads: 2 }, { position, kernel, name: 'block0/attention' });
    const json = again(layer);
    expect(json).toEqual({
      kind: 'Plain',
      config: { embedDim: 4, numHeads: 2, seed: expect.any(Number) },
      parts: {
        name: 'block0/attention',
        position: { kind: 'shift', config: { heads: 2 } },
        kernel: { kind: 'firstSupported', candidates: [{ kind: 'composed' }] },
      },
    });
    const rebuilt = fromConfig<Plain>(json, kinds);
    expect(numbers(rebuilt)).toEqual(numbers(layer));
    expect(rebuilt.variables.map(({ name }) => name)).toEqual(layer.variables.map(({ name }) => name));
  });

  it('writes once what layers share, by its name or its kind', () => {
    const named = shift({ heads: 2 }, { name: 'encoder/shift' });
    const unnamed = shift({ heads: 2 });
    const config = { embedDim: 4, numHeads: 2, seed: 1 };
    const layers = [named, named, unnamed, unnamed].map((position) => new Plain(config, { position }));
    const json = again(toConfig({ layers }));
    expect(Object.keys(json.shared)).toEqual(['encoder/shift', 'shift0']);
    expect(json.value.layers[1].parts.position).toEqual({ ref: 'encoder/shift' });
    const { layers: rebuilt } = fromConfig<{ layers: Plain[] }>(json, kinds);
    const variables = rebuilt.map((layer) => layer.variables.at(-1)!);
    expect(variables[0]!.variable).toBe(variables[1]!.variable);
    expect(variables[2]!.variable).toBe(variables[3]!.variable);
    expect(variables[0]!.variable).not.toBe(variables[2]!.variable);
    expect(variables.map(({ name }) => name)).toEqual([
      'encoder/shift/numbers',
      'encoder/shift/numbers',
      'position/numbers',
      'position/numbers',
    ]);
  });

  it('is refused with a reason where a part has none, or a kind is not there', () => {
    const kernel: AttentionKernel = { name: 'mine', unsupported: () => [], run: () => ({}) as never };
    const layer = new Plain({ embedDim: 4, numHeads: 2 }, { kernel });
    expect(() => JSON.stringify(layer)).toThrow(/parts.kernel must have a toJSON/);
    const json = again(new Plain({ embedDim: 4, numHeads: 2 }));
    expect(() => fromConfig(json, [shift])).toThrow(/pass the export that makes "Plain"/);
    expect(() => fromConfig(json, [Plain, { kind: 'Plain', parameters: [] }])).toThrow(/one kind/);
    expect(() => fromConfig(json, [undefined as never])).toThrow(/each export must have a kind/);
    expect(() => toConfig(() => 1)).toThrow(/a function has no JSON/);
  });
});

describe('names of variables', () => {
  const config = { embedDim: 4, numHeads: 2, seed: 1 };

  it('are whole in `variables`, short in weights, and give each layer its own start', () => {
    const [one, other] = ['block0/attention', 'block1/attention'].map((name) => new Plain(config, { name }));
    expect(one!.variables[0]!.name).toBe('block0/attention/query/kernel');
    expect(Object.keys(one!.getWeights())[0]).toBe('query/kernel');
    expect(numbers(one!)).not.toEqual(numbers(other!));
    expect(numbers(one!)).toEqual(numbers(new Plain(config, { name: 'block0/attention' })));
    other!.setWeights(one!.getWeights());
    expect(numbers(other!)).toEqual(numbers(one!));
  });

  it('are told to an initializer, which may leave a variable to its own start', () => {
    const told: string[] = [];
    const layer = new Plain(
      { ...config, useBias: ['query', 'value'], learnedSinks: true },
      {
        name: 'block0',
        initializer(shape, _seed, name) {
          told.push(name);
          return name === 'block0/value/bias' ? tf.fill([...shape], 7) : undefined;
        },
      },
    );
    expect(told).toEqual(layer.variables.map(({ name }) => name));
    const start = (name: string) => layer.getWeights()[name]?.dataSync()[0];
    expect([start('query/bias'), start('value/bias'), start('key/bias')]).toEqual([0, 7, undefined]);
    expect(start('sinks/logits')).toBe(0.5); // its own start
    expect(start('query/kernel')).not.toBe(0);
  });
});

describe('setDefaultKernel', () => {
  afterEach(() => setDefaultKernel(undefined));
  const named = (name: string): AttentionKernel => ({ ...composed(), name });

  it('serves every layer without a kernel of its own', () => {
    const layer = new Plain({ embedDim: 4, numHeads: 2 });
    const own = new Plain({ embedDim: 4, numHeads: 2 }, { kernel: named('own') });
    const ran = () => [
      layer.apply({ query: x() }).kernel,
      own.apply({ query: x() }).kernel,
      layer.apply({ query: x() }, { kernel: named('of the call') }).kernel,
    ];
    expect(ran()).toEqual(['composed', 'own', 'of the call']);
    setDefaultKernel(named('fast'));
    expect(ran()).toEqual(['fast', 'own', 'of the call']);
    setDefaultKernel(undefined);
    expect(ran()).toEqual(['composed', 'own', 'of the call']);
    expect(() => setDefaultKernel(5 as never)).toThrow(/kernel must be an AttentionKernel/);
  });
});

describe('a layer', () => {
  it('commits new rows as the very last thing', () => {
    const layer = new Plain({ embedDim: 4, numHeads: 2 });
    let committed = 0;
    const cache = {
      nextPosition: [0, 0],
      nextOrder: [0, 0],
      sealed: false,
      stage: (rows: { layer?: { name: string } }) => {
        expect(rows.layer?.name).toBe('Plain');
        return { commit: () => committed++ };
      },
    } as never;
    layer.apply({ query: x() }, { cache });
    expect(committed).toBe(1);
    layer.variables.find(({ name }) => name === 'output/kernel')!.variable.dispose();
    expect(() => layer.apply({ query: x() }, { cache })).toThrow(/must not be disposed/);
    expect(committed).toBe(1);
  });

  it('takes keys for those of other tokens, unless it is told that they are its own', () => {
    const position: PositionMethod = { ...shift({ heads: 2 }), selfOnly: true };
    const layer = new Plain({ embedDim: 4, numHeads: 2 }, { position });
    const query = x();
    const own = layer.apply({ query }).output.dataSync();
    expect(() => layer.apply({ query, key: query })).toThrow(/no meaning in cross-attention/);
    expect(() => layer.apply({ query, key: tf.clone(query) })).toThrow(/say cross: false/);
    expect(layer.apply({ query, key: tf.clone(query), cross: false }).output.dataSync()).toEqual(own);
    expect(() => layer.apply({ query, key: tf.zeros([2, 5, 4]), cross: false })).toThrow(/as many/);
    expect(() => layer.apply({ query, cross: true })).toThrow(/needs a key/);
    expect(() => layer.apply(query as never)).toThrow(/give \{ query: tensor \}/);
    expect(() => layer.apply({ query }, { causal: true } as never)).toThrow(
      /call may hold known options only/,
    );
  });
});
