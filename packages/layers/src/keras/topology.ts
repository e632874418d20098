// A graph as the topology that tfjs reads.
import { ConfigError, UnsupportedError } from '@polyhead/core';
import { serialization } from '@tensorflow/tfjs-core';
import { translated, variantOf } from './attention';
import { type Call, type Graph, type GraphLayer, type Json, Ref, refsIn } from './graph';
import { configOf } from './layer-config';
import type { MaskRule } from './mask-layers';
import { GraphMasks, isOperation } from './masks';

const where = 'loadKerasModel';

/** What tfjs has for operations on two tensors. */
const operations: Readonly<Record<string, string>> = {
  '__operators__.add': 'Add',
  'math.add': 'Add',
  'math.multiply': 'Multiply',
  'math.maximum': 'Maximum',
  'math.minimum': 'Minimum',
  Add: 'Add',
  Multiply: 'Multiply',
  Maximum: 'Maximum',
  Minimum: 'Minimum',
};

/** The graph with attention as layers of this package, and with masks as tensors. */
export function withAttention(graph: Graph): Graph {
  const masks = new GraphMasks(graph);
  const layers = graph.layers.map((layer) => {
    if (layer.isOfKeras && variantOf[layer.className]) return translated(layer, masks);
    if (isOperation(layer) && layer.className in rules) return maskOperation(layer);
    if (layer.isOfKeras && layer.className === 'Identity') return unchanged(layer);
    if (layer.className === 'Bidirectional') checkUnmasked(layer, masks);
    return layer.className === 'GlobalAveragePooling1D' ? averaged(layer, masks) : layer;
  });
  // tfjs hands masks on to layers that cannot take them: only recurrent layers need its own.
  const keeps = masks.reachRecurrentLayers;
  const all = keeps ? layers : layers.map((layer) => withoutMask(layer));
  return { ...graph, layers: needed([...all, ...masks.layers], graph.outputs).flatMap(withCopies) };
}

/** tfjs disposes a tensor too early that one call reads twice: it reads a copy the second time. */
function withCopies(layer: GraphLayer): GraphLayer[] {
  const copies: GraphLayer[] = [];
  const copyOf = (ref: Ref): Ref => {
    const name = `${layer.name}_copy_${copies.length}`;
    const calls = [{ args: [ref], kwargs: {} }];
    const config = { name, activation: 'linear' };
    copies.push({ name, className: 'Activation', module: '', isOfKeras: true, config, calls, names: [] });
    return new Ref(name, 0, 0);
  };
  const calls = layer.calls.map((call) => {
    if (layer.className === 'TFOpLambda' || !hasRepeats(call)) return call;
    const seen = new Set<string>();
    const args = refsIn(call.args).map((ref) => {
      if (seen.has(ref.key)) return copyOf(ref);
      seen.add(ref.key);
      return ref;
    });
    return { ...call, args: [args] };
  });
  return [...copies, { ...layer, calls }];
}

function hasRepeats({ args }: Call): boolean {
  const refs = refsIn(args);
  return new Set(refs.map(({ key }) => key)).size < refs.length;
}

/** Without masks that nobody reads any more. */
function needed(layers: readonly GraphLayer[], outputs: readonly Ref[]): readonly GraphLayer[] {
  const used = new Set(
    [...outputs, ...layers.flatMap((layer) => tensorsOf(layer))].map(({ layer }) => layer),
  );
  const kept = layers.filter((layer) => used.has(layer.name) || !(isMask(layer) || isOperation(layer)));
  return kept.length === layers.length ? kept : needed(kept, outputs);
}

/** What a layer reads; a mask among the arguments is found anew. */
function tensorsOf({ className, calls }: GraphLayer): Ref[] {
  if (className.startsWith('Polyhead')) return refsIn(calls);
  return calls.flatMap(({ args, kwargs: { mask: _, ...kwargs } }) => refsIn([args, kwargs]));
}

function isMask({ className }: GraphLayer): boolean {
  return className === 'PolyheadMask';
}

/** What operations on masks are called here. */
const rules: Readonly<Record<string, MaskRule>> = { NotEqual: 'tokens', LogicalOr: 'or', LogicalAnd: 'and' };

/** Keras 3 writes masks that layers were handed as operations. */
function maskOperation(layer: GraphLayer): GraphLayer {
  const rule = rules[layer.className]!;
  const [call] = layer.calls;
  const refs = refsIn(call?.args);
  const value = call?.args[1];
  const fits = rule === 'tokens' ? refs.length === 1 && typeof value === 'number' : refs.length === 2;
  if (layer.calls.length !== 1 || !fits) return layer;
  const config = { name: layer.name, rule, ...(rule === 'tokens' && { value }) };
  return { ...layer, className: 'PolyheadMask', module: '', config, calls: [{ args: [refs], kwargs: {} }] };
}

/** What `tf.loadLayersModel` reads. */
export function topologyOf({ name, version, layers, inputs, outputs }: Graph): object {
  checkOrder(layers, [...inputs, ...outputs]);
  return {
    class_name: 'Model',
    config: {
      name,
      layers: layers.map((layer) => writtenLayer(layer, version)),
      input_layers: inputs.map(written),
      output_layers: outputs.map(written),
    },
  };
}

/**
 * tfjs would wait for ever for a tensor that nobody gives.
 *
 * @throws ConfigError for tensors that no layer gives, and for circles
 */
function checkOrder(layers: readonly GraphLayer[], ends: readonly Ref[]): void {
  const made = new Set(layers.filter(({ calls }) => calls.length === 0).map(({ name }) => `${name} 0`));
  const isMade = ({ layer, node }: Ref) => made.has(`${layer} ${node}`);
  let waiting = layers.flatMap((layer) =>
    layer.calls.map((call, n) => ({ call: `${layer.name} ${n}`, refs: inputsOf(layer, call) })),
  );
  for (let before = -1; before !== waiting.length; ) {
    before = waiting.length;
    const ready = waiting.filter(({ refs }) => refs.every(isMade));
    for (const { call } of ready) made.add(call);
    waiting = waiting.filter((entry) => !ready.includes(entry));
  }
  const missing = [...waiting.flatMap(({ refs }) => refs), ...ends].filter((ref) => !isMade(ref));
  if (missing.length === 0) return;
  throw new ConfigError(where, 'each tensor must be the output of a layer before', {
    missing: missing.map(({ key }) => key),
  });
}

/** Keras leaves out rows that a mask hides; tfjs does not. */
function averaged(layer: GraphLayer, masks: GraphMasks): GraphLayer {
  const ofCalls = layer.calls.map(({ args, kwargs: { mask } }) => {
    const [ref] = refsIn(args);
    return mask instanceof Ref ? mask : ref && masks.of(ref, layer);
  });
  if (layer.config.keepdims) throw unsupported(layer, 'keepdims is true: tfjs averages without it');
  if (ofCalls.every((mask) => mask === undefined)) return layer;
  if (ofCalls.some((mask) => mask === undefined))
    throw unsupported(layer, 'some of its calls have a mask, others not');
  const calls = layer.calls.map(({ args }, n) => ({ args: [[refsIn(args)[0]!, ofCalls[n]!]], kwargs: {} }));
  return { ...layer, className: 'PolyheadMaskedMean', config: { name: layer.name }, calls };
}

/** @throws UnsupportedError where rows of padding would not be 0, as Keras has them */
function checkUnmasked(layer: GraphLayer, masks: GraphMasks): void {
  const { return_sequences: givesRows } = (layer.config.layer as Json).config as Json;
  const isMasked = layer.calls.some(({ args, kwargs }) =>
    refsIn([args, kwargs]).some((ref) => masks.of(ref, layer) !== undefined),
  );
  if (givesRows && isMasked)
    throw unsupported(layer, 'its input has a mask: Keras gives zeros where it hides, tfjs does not');
}

/** What tfjs calls Identity is an initializer. */
function unchanged(layer: GraphLayer): GraphLayer {
  return { ...layer, className: 'Activation', config: { ...layer.config, activation: 'linear' } };
}

function withoutMask(layer: GraphLayer): GraphLayer {
  const { className, config } = layer;
  if (className === 'Embedding') return { ...layer, config: { ...config, mask_zero: false } };
  if (className !== 'Bidirectional') return layer;
  const { config: ofInner, ...inner } = config.layer as Json;
  const unmasked = { ...inner, config: { ...(ofInner as Json), zero_output_for_mask: false } };
  return { ...layer, config: { ...config, layer: unmasked } };
}

function writtenLayer(layer: GraphLayer, version: number): object {
  const { name, calls } = layer;
  const className = classOf(layer);
  const config =
    className === 'Functional' ? layer.config : { ...configOf(layer, layer.config, version), name };
  return {
    name,
    class_name: className,
    config,
    inbound_nodes: calls.map((call) => inputsOf(layer, call).map(written)),
  };
}

function written({ layer, node, output }: Ref): readonly unknown[] {
  return [layer, node, output, {}];
}

/** @throws UnsupportedError for a class that tfjs does not know */
function classOf(layer: GraphLayer): string {
  const { className, config, module } = layer;
  if (className === 'TFOpLambda' || isOperation(layer)) {
    const operation = className === 'TFOpLambda' ? String(config.function) : className;
    const known = operations[operation];
    if (known) return known;
    throw unsupported(layer, `the operation ${operation} has no layer in tfjs`);
  }
  const { classNameMap } = serialization.SerializationMap.getMap();
  if (Object.hasOwn(classNameMap, className) && (layer.isOfKeras || !variantOf[className])) return className;
  // Keras 2 writes package>Name, by which `registerClass(own, package)` knows it.
  const short = className.slice(className.lastIndexOf('>') + 1);
  const [own] = Object.hasOwn(classNameMap, short) ? classNameMap[short]! : [];
  if (own && !variantOf[short] && serialization.getRegisteredName(own) === className) return short;
  const from = module && !module.startsWith('keras') ? ` of ${module}` : '';
  throw unsupported(
    layer,
    `tfjs has no class ${className}${from}: register one of one's own by tf.serialization.registerClass`,
  );
}

/** The inputs of a call that is no attention. */
function inputsOf(layer: GraphLayer, { args, kwargs }: Call): Ref[] {
  const isSecond = (name: string) => name === 'y' && layer.className === 'TFOpLambda';
  const strange = Object.entries(kwargs).filter(
    ([name, value]) =>
      value !== null && value !== false && !['inputs', 'mask'].includes(name) && !isSecond(name),
  );
  const refs = refsIn([args, kwargs.inputs, layer.className === 'TFOpLambda' ? kwargs.y : undefined]);
  const isMerge = layer.className === 'TFOpLambda' || isOperation(layer);
  const constants = args.flat(2).filter((value) => value !== null && !(value instanceof Ref));
  if (strange.length === 0 && constants.length === 0 && (!isMerge || refs.length === 2)) return refs;
  const what = [...strange.map(([name]) => name), ...(constants.length > 0 || isMerge ? ['a constant'] : [])];
  throw unsupported(layer, `a call has ${what.join(', ')} beside its tensors`);
}

function unsupported({ name, className }: GraphLayer, reason: string): UnsupportedError {
  return new UnsupportedError(where, `${className} "${name}" cannot be loaded`, [reason]);
}
