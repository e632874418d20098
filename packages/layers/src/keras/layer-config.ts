// The config of a Keras layer in the words of tfjs, which are those of Keras 2. What tfjs would pass over is refused.
import { UnsupportedError } from '@polyhead/core';
import { serialization } from '@tensorflow/tfjs-core';
import type { LayersModel, layers } from '@tensorflow/tfjs-layers';
import { variantOf } from './attention';
import type { Graph, GraphLayer, Json } from './graph';

/** The config that tfjs reads. @throws UnsupportedError for what it has no counterpart of */
export function configOf(layer: GraphLayer, config: Json, version: number): Json {
  if (config.reset_after === true) throw unsupported(layer, 'reset_after is true: tfjs has no such GRU');
  return Object.fromEntries(
    Object.entries(config).flatMap(([name, value]): [string, unknown][] => {
      if (value === undefined || (name === 'key' && layer.className === 'PolyheadMask')) return [];
      if (name.match(/^kernel_(in|re|co)/) && layer.className.startsWith('Separable')) return [];
      if (name === 'dtype') return [[name, dtypeOf(layer, value)]];
      if (name === 'batch_shape') return [['batch_input_shape', value]];
      if (name === 'negative_slope' && layer.className === 'LeakyReLU') return [['alpha', value]];
      if (name.endsWith('activation')) return [[name, activationOf(layer, value, version)]];
      if (name.endsWith('_initializer')) return [[name, initializerOf(value)]];
      if (name.endsWith('_regularizer')) return [[name, regularizerOf(layer, name, value)]];
      if (name.endsWith('_constraint')) return [[name, constraintOf(layer, name, value)]];
      if (name === 'layer') return [[name, wrapped(layer, value as Json | null, version)]];
      if (name === 'backward_layer' && isMirrored(value, config.layer)) return [];
      return [[name, value]];
    }),
  );
}

/** A layer within a wrapper such as `Bidirectional`. */
function wrapped(layer: GraphLayer, value: Json | null, version: number): unknown {
  if (!value) return value;
  const { class_name: className, config } = value;
  if (variantOf[className as string]) throw unsupported(layer, `it wraps ${className}`);
  const inner = configOf(layer, config as Json, version);
  // Keras 3 names the layer forward_lstm, which tfjs does itself.
  const name = layer.className === 'Bidirectional' ? String(inner.name).replace(/^forward_/, '') : inner.name;
  return { class_name: className, config: { ...inner, name } };
}

/** tfjs makes the layer that reads backwards itself, as the other one is. */
function isMirrored(backward: unknown, forward: unknown): boolean {
  const described = (layer: unknown) => {
    const { class_name: className, config } = layer as Json;
    const { name: _, go_backwards: __, zero_output_for_mask: ___, ...options } = config as Json;
    return JSON.stringify([className, options]);
  };
  return !backward || described(backward) === described(forward);
}

/** Keras 3 writes policies: numbers are float32 here, whatever they were computed in. */
function dtypeOf(layer: GraphLayer, value: unknown): unknown {
  if (typeof value === 'string' || value === null) return policy(layer, value);
  const { class_name: className, config } = value as Json;
  if (className !== 'DTypePolicy' && className !== 'Policy')
    throw unsupported(layer, `its dtype is a ${className}`);
  return policy(layer, (config as Json).name);
}

function policy({ className }: GraphLayer, name: unknown): unknown {
  if (className === 'InputLayer') return name;
  return typeof name === 'string' && /float/.test(name) ? 'float32' : name;
}

function activationOf(layer: GraphLayer, value: unknown, version: number): unknown {
  if (value === null) return value;
  if (value === 'silu') return 'swish';
  const { class_name: className, config } = (typeof value === 'string' ? {} : value) as Json;
  if (className === 'function' && typeof config === 'string') return activationOf(layer, config, version);
  const name = typeof value === 'string' ? value : JSON.stringify(value);
  // Keras 2 and tfjs have clip(0.2 x + 0.5, 0, 1), Keras 3 has clip(x / 6 + 0.5, 0, 1).
  const isOther = name === 'hard_sigmoid' && version > 2;
  if (!isOther && (isKnown(name) || isKnown(camelCase(name)))) return name;
  throw unsupported(layer, `its activation is ${name}${isOther ? ' of Keras 3' : ''}, which tfjs has not`);
}

/** Every variable gets its weight: how it would have started does not matter. */
function initializerOf(value: unknown): unknown {
  const { class_name: className } = (value ?? {}) as Json;
  return className === undefined || isKnown(className) ? value : { class_name: 'Zeros', config: {} };
}

function regularizerOf(layer: GraphLayer, name: string, value: unknown): unknown {
  if (value === null) return value;
  if (name === 'activity_regularizer') throw unsupported(layer, 'tfjs has no regularizers of outputs');
  const { class_name: className, config } = value as Json;
  if (className === 'L1' || className === 'L2')
    return { class_name: 'L1L2', config: { l1: 0, l2: 0, ...(config as Json) } };
  return known(layer, name, value);
}

function constraintOf(layer: GraphLayer, name: string, value: unknown): unknown {
  return value === null ? value : known(layer, name, value);
}

function known(layer: GraphLayer, name: string, value: unknown): unknown {
  const { class_name: className = value } = value as Json;
  if (isKnown(className)) return value;
  throw unsupported(layer, `its ${name} is ${className}, which tfjs has not`);
}

function isKnown(className: unknown): boolean {
  return Object.hasOwn(serialization.SerializationMap.getMap().classNameMap, className as string);
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Options that change no number, or that tfjs honors and does not write down again; and values that say what it does anyway. */
const silent = new Set([
  ...['name', 'dtype', 'trainable', 'seed', 'batch_input_shape', 'autocast', 'sparse', 'ragged', 'optional'],
  ...['use_cudnn', 'synchronized', 'implementation', 'fused', 'depth_multiplier'],
]);
const usual = new Set<unknown>([null, false, 0, 'channels_last', 'auto']);
const isUsual = (name: string, value: unknown) => usual.has(value) || (name === 'groups' && value === 1);

/**
 * tfjs passes over options that its layers do not have: numbers would be others, without a word.
 *
 * @param model made of the graph
 * @throws UnsupportedError, naming layer and option
 */
export function checkOptions(model: LayersModel, graph: Graph): void {
  for (const layer of graph.layers) {
    const made = model.layers.find(({ name }) => name === layer.name);
    const isTranslated = layer.className.startsWith('Polyhead') || layer.className === 'TFOpLambda';
    if (!made || !layer.isOfKeras || isTranslated) continue;
    checkLayer(layer, made, configOf(layer, layer.config, graph.version));
  }
}

function checkLayer(layer: GraphLayer, made: layers.Layer, config: Json): void {
  const has = made.getConfig();
  const strange = Object.entries(config).filter(
    ([name, value]) => !silent.has(name) && !isUsual(name, value) && !Object.hasOwn(has, camelCase(name)),
  );
  const { layer: inner, forwardLayer = inner } = made as {
    readonly layer?: layers.Layer;
    readonly forwardLayer?: layers.Layer;
  };
  const ofInner = config.layer as Json | undefined;
  if (ofInner && forwardLayer) checkLayer(layer, forwardLayer, ofInner.config as Json);
  if (strange.length === 0) return;
  const [name, value] = strange[0]!;
  throw unsupported(layer, `${name} is ${JSON.stringify(value)}, which tfjs passes over`);
}

function unsupported({ name, className }: GraphLayer, reason: string): UnsupportedError {
  return new UnsupportedError('loadKerasModel', `${className} "${name}" cannot be loaded`, [reason]);
}
