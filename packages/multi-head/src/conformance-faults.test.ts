// The suite of variants, tried on layers that are known to be wrong: each fault is noticed by the check that is there for it.
import { commonOptions, type LayerConfig, variantChecks } from '@polyhead/conformance';
import {
  type Attention,
  type AttentionKernel,
  causal,
  composed,
  type KeyValueCache,
  type LayerCall,
  type LayerInputs,
  type LayerParts,
  type LayerResult,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { MultiHeadAttention, type MultiHeadConfig } from './index';

type Create = (config: MultiHeadConfig, parts?: LayerParts) => Attention;

/** The layer, but for what is replaced. */
function replacing(layer: MultiHeadAttention, parts: Partial<Attention>): Attention {
  return {
    config: layer.config,
    variables: layer.variables,
    apply: (inputs, call) => layer.apply(inputs, call),
    cacheShape: (batch) => layer.cacheShape(batch),
    getWeights: () => layer.getWeights(),
    setWeights: (weights) => layer.setWeights(weights),
    dispose: () => layer.dispose(),
    ...parts,
  };
}

/** The layer, with something done to its calls. */
function applying(
  change: (layer: MultiHeadAttention, inputs: LayerInputs, call: LayerCall) => LayerResult,
): Create {
  return (config, parts) => {
    const layer = new MultiHeadAttention(config, parts);
    return replacing(layer, { apply: (inputs, call = {}) => change(layer, inputs, call) as never });
  };
}

/** The layer of another config. */
const built =
  (change: (config: MultiHeadConfig) => MultiHeadConfig): Create =>
  (config) =>
    new MultiHeadAttention(change(config));

/** The tensor, whose gradient is another than it should be. */
function withGradient<T extends tf.Tensor>(x: T, change: (gradient: tf.Tensor) => tf.Tensor): T {
  return tf.customGrad((input) => ({ value: tf.clone(input as T), gradFunc: change }))(x);
}

/** The layer by a kernel whose gradient for one argument is another than it should be. */
const byKernel =
  (argument: 'query' | 'key' | 'value', change: (gradient: tf.Tensor) => tf.Tensor): Create =>
  (config) => {
    const run: AttentionKernel['run'] = ({ inputs, ...call }) => {
      const tensors = inputs as unknown as { readonly [name: string]: tf.Tensor4D };
      const wrong = { ...tensors, [argument]: withGradient(tensors[argument]!, change) };
      return composed().run({ ...call, inputs: wrong as unknown as typeof inputs });
    };
    return new MultiHeadAttention(config, { kernel: { ...composed(), run } });
  };

/** The first row scaled, the others as they are. */
function firstRowScaled(x: tf.Tensor, factor: number): tf.Tensor {
  const rows = tf.reshape(x, [-1, x.shape.at(-1)!]);
  const factors = Array.from({ length: rows.shape[0]! }, (_, row) => (row === 0 ? factor : 1));
  return tf.reshape(tf.mul(rows, tf.tensor2d(factors, [factors.length, 1])), x.shape);
}

const gradients = /^gradients agree with derivatives of the oracle/;

const faults: readonly (readonly [fault: string, create: Create, check: RegExp])[] = [
  [
    'forgets the biases of projections',
    applying((layer, ...call) => withoutBiases(layer, call)),
    /^equals the oracle: projection biases/,
  ],
  [
    'is off by a hundred thousandth',
    applying((layer, ...call) => scaled(layer.apply(...call), 1.00001)),
    /^equals the oracle: self/,
  ],
  [
    'puts the first query at the first key',
    applying((layer, inputs, call) => layer.apply(inputs, { queryStart: 0, ...call })),
    /^equals the oracle: values beside keys/,
  ],
  [
    'loses the gradient of the output',
    applying((layer, ...call) => {
      const result = layer.apply(...call);
      return { ...result, output: tf.tensor3d(result.output.dataSync(), result.output.shape) };
    }),
    /^gradients agree with derivatives of the oracle: self/,
  ],
  [
    'has one row of the gradient of keys off by 1 %',
    byKernel('key', (x) => firstRowScaled(x, 1.01)),
    gradients,
  ],
  ['has no gradient for one value', byKernel('value', (x) => firstRowScaled(x, 0)), gradients],
  ['exchanges the gradients of keys', byKernel('key', (x) => tf.reverse(x, 2)), gradients],
  ['exchanges the gradients of heads', byKernel('query', (x) => tf.reverse(x, 1)), gradients],
  [
    'has one token of the gradient of an input off by 1 %',
    applying((layer, { query, ...inputs }, call) =>
      layer.apply({ query: withGradient(query, (x) => firstRowScaled(x, 1.01)), ...inputs }, call),
    ),
    gradients,
  ],
  [
    'has the gradient of one output off by 1 %',
    applying((layer, ...call) => {
      const result = layer.apply(...call);
      return { ...result, output: withGradient(result.output, (x) => firstRowScaled(x, 1.01)) };
    }),
    gradients,
  ],
  ['ignores its seed', built(({ seed: _, ...config }) => config), /^starts the same/],
  ['starts all alike', built((config) => ({ seed: 1, ...config })), /^starts the same/],
  [
    'forgets an option in its config',
    (config) => replacing(new MultiHeadAttention(config), { config: { ...config, softcap: 0 } }),
    /^is rebuilt by its config, as JSON, and its weights: scale and softcap/,
  ],
  [
    'drops without training',
    applying((layer, inputs, call) => layer.apply(inputs, { training: { seed: 1 }, ...call })),
    /^drops weights in training only/,
  ],
  [
    'never drops',
    built((config) => ({ ...config, dropout: 0 })),
    /^(drops weights in training only|equals the oracle: dropout)/,
  ],
  [
    'keeps a tensor',
    applying((layer, ...call) => {
      tf.keep(tf.zeros([1]));
      return layer.apply(...call);
    }),
    /^(leaves its inputs alone|trains twenty steps)/,
  ],
  [
    'does not dispose all of its variables',
    (config) => replacing(new MultiHeadAttention(config), { dispose: () => undefined }),
    /^is gone when disposed/,
  ],
  [
    'ignores the kernel of the call',
    applying((layer, inputs, { kernel: _, ...call }) => layer.apply(inputs, call)),
    /^runs the kernel of the call/,
  ],
  [
    'always masks',
    applying((layer, inputs, call) => layer.apply(inputs, { ...call, mask: causal() })),
    /^equals the oracle: self/,
  ],
  [
    'throws an error of its own',
    applying((layer, inputs, call) => {
      if (inputs.query.rank !== 3) throw new Error('query [4, 6]');
      return layer.apply(inputs, call);
    }),
    /^refuses a query without a batch axis/,
  ],
  [
    'forgets its name',
    (config, { name: _, ...parts } = {}) => new MultiHeadAttention(config, parts),
    /^names its variables by parts.name/,
  ],
  [
    'forgets in JSON the seed that it drew',
    (config, parts) => {
      const layer = new MultiHeadAttention(config, parts);
      const toJSON = () => ({ ...layer.toJSON(), config });
      return replacing(layer, { constructor: MultiHeadAttention, toJSON } as Partial<Attention>);
    },
    /^is made again by its JSON/,
  ],
  [
    'tells a cache nothing of itself',
    applying((layer, inputs, { cache, ...call }) => {
      const stage: KeyValueCache['stage'] = ({ layer: _, ...rows }) => cache!.stage(rows);
      const nameless = cache && { ...asTold(cache), stage };
      return layer.apply(inputs, { ...call, cache: nameless });
    }),
    /^tells a cache who calls/,
  ],
  [
    'drops its position method where it does not fit',
    (config, parts) => {
      const layer = new MultiHeadAttention(config, parts);
      const plain = new MultiHeadAttention(config);
      const apply: Attention['apply'] = (inputs, call) =>
        inputs.key ? plain.apply(inputs, call) : layer.apply(inputs, call);
      return replacing(layer, { apply });
    },
    /^refuses keys of other tokens/,
  ],
  [
    'drops positions',
    applying((layer, inputs, { positions: _, ...call }) => layer.apply(inputs, call)),
    /^refuses positions/,
  ],
];

describe('the suite notices a layer that', () => {
  beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'the suite notices the same on every backend'));

  it.each(faults)('%s', async (_, create, check) => {
    expect(await isNoticed(create, check)).toBe(true);
    expect(await isNoticed((config, parts) => new MultiHeadAttention(config, parts), check)).toBe(false);
  });
});

/** True where at least one of the checks of this name throws. */
async function isNoticed(create: Create, sentence: RegExp): Promise<boolean> {
  const variant = {
    create: (config: LayerConfig, parts?: LayerParts) => create(config, parts),
    options: commonOptions,
  };
  const checks = variantChecks(variant).filter(({ name }) => sentence.test(name));
  expect(checks.length).toBeGreaterThan(0);
  for (const { run } of checks) {
    try {
      await run();
    } catch {
      return true;
    }
  }
  return false;
}

/** The state of a cache, as it is now. */
function asTold({ lengths, nextOrder, nextPosition, shape, sealed, byteSize }: KeyValueCache) {
  return { lengths, nextOrder, nextPosition, shape, sealed, byteSize } as KeyValueCache;
}

function scaled(result: LayerResult, factor: number): LayerResult {
  return { ...result, output: tf.mul(result.output, factor) };
}

function withoutBiases(layer: MultiHeadAttention, [inputs, call]: [LayerInputs, LayerCall]): LayerResult {
  const unbiased = new MultiHeadAttention({ ...layer.config, useBias: false });
  const kernels = Object.entries(layer.getWeights()).filter(([name]) => !name.endsWith('/bias'));
  unbiased.setWeights(Object.fromEntries(kernels));
  return unbiased.apply(inputs, call);
}
