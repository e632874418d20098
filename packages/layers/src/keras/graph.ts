// The topology of a Keras model as one flat graph: Keras 2 and 3 write it differently, and models lie within models.
import { ConfigError } from '@polyhead/core';

/** Plain JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** An output of a call of a layer. */
export class Ref {
  constructor(
    readonly layer: string,
    readonly node: number,
    readonly output: number,
  ) {}

  /** A text by which equal ones are found. */
  get key(): string {
    return `${this.layer} ${this.node} ${this.output}`;
  }
}

/** One call of a layer: arguments as Python had them, with a `Ref` for each tensor. */
export interface Call {
  readonly args: readonly unknown[];
  readonly kwargs: Json;
}

/** A layer of a graph. */
export interface GraphLayer {
  readonly name: string;
  readonly className: string;
  /** Where Python defines it. */
  readonly module: string;
  /** A class of Keras's own: not one that was registered, or that another module defines. */
  readonly isOfKeras: boolean;
  /** As Keras wrote it. */
  readonly config: Json;
  readonly calls: readonly Call[];
  /** Names that its weights may stand under. */
  readonly names: readonly string[];
}

/** Layers, and which of their outputs go in and out. */
export interface Graph {
  readonly name: string;
  /** 2 or 3. */
  readonly version: number;
  readonly layers: readonly GraphLayer[];
  readonly inputs: readonly Ref[];
  readonly outputs: readonly Ref[];
}

const models = ['Functional', 'Model', 'Sequential'];
const where = 'loadKerasModel';

/**
 * @param topology what `model.to_json()` gives, parsed
 * @throws ConfigError for what is no functional or sequential model
 */
export function readGraph(topology: unknown): Graph {
  const { class_name: className, config, keras_version: said } = topology as Json;
  if (!models.includes(className as string) || typeof config !== 'object' || config === null)
    throw new ConfigError(
      where,
      'the model must be functional or sequential: Keras writes no graph of others',
      {
        class_name: className,
      },
    );
  const version = typeof said === 'string' ? Number.parseInt(said, 10) : guessedVersion(config as Json);
  return flat(graphOf(topology as Json, version));
}

/** All refs in a value, in order. */
export function refsIn(value: unknown): Ref[] {
  if (value instanceof Ref) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((entry) => refsIn(entry));
}

/** Keras 3 writes the arguments of calls as objects. */
function guessedVersion(config: Json): number {
  return JSON.stringify(config.layers ?? []).includes('"__keras_tensor__"') ? 3 : 2;
}

function graphOf(model: Json, version: number): Graph {
  const config = model.config as Json | readonly Json[];
  if (model.class_name === 'Sequential') return chainOf(config, version);
  const { name, layers = [], input_layers: inputs, output_layers: outputs } = config as Json;
  return {
    name: String(name ?? 'model'),
    version,
    layers: (layers as readonly Json[]).map((layer) => layerOf(layer, callsOf(layer))),
    inputs: refList(inputs),
    outputs: refList(outputs),
  };
}

/** A sequential model: each layer is called with what the one before gave. */
function chainOf(config: Json | readonly Json[], version: number): Graph {
  const { name = 'sequential', layers = config, build_input_shape: built } = config as Json;
  const all = layers as readonly Json[];
  const [first] = all;
  const own = first?.config as Json | undefined;
  const shape = own?.batch_input_shape ?? own?.batch_shape ?? built ?? null;
  const dtype = first?.class_name === 'Embedding' ? 'int32' : 'float32';
  const input = {
    class_name: 'InputLayer',
    config: { name: `${name}_input`, batch_input_shape: shape, dtype },
  };
  const chain: readonly Json[] = first?.class_name === 'InputLayer' ? all : [input, ...all];
  const names = chain.map((layer) => String((layer.config as Json).name ?? layer.name));
  return {
    name: String(name),
    version,
    layers: chain.map((layer, n) =>
      layerOf(
        { ...layer, name: names[n] },
        n === 0 ? [] : [{ args: [new Ref(names[n - 1]!, 0, 0)], kwargs: {} }],
      ),
    ),
    inputs: [new Ref(names[0]!, 0, 0)],
    outputs: [new Ref(names.at(-1)!, 0, 0)],
  };
}

function layerOf(layer: Json, calls: readonly Call[]): GraphLayer {
  const { class_name: className, config, module = '', registered_name: registered } = layer;
  const name = String(layer.name ?? (config as Json).name);
  return {
    name,
    className: String(className),
    module: String(module ?? ''),
    // One that was registered is called package>Name.
    isOfKeras:
      /^($|(tf_)?keras\b|tensorflow\b)/.test(`${module ?? ''}`) &&
      !`${className} ${registered}`.includes('>'),
    config: config as Json,
    calls,
    names: [name],
  };
}

function callsOf({ inbound_nodes: nodes = [] }: Json): Call[] {
  return (nodes as readonly unknown[]).map((node) => {
    if (!Array.isArray(node)) {
      const { args = [], kwargs = {} } = node as { readonly args?: unknown[]; readonly kwargs?: Json };
      return { args: args.map(withRefs), kwargs: withRefs(kwargs) as Json };
    }
    // Keras 2: [[layer, node, output, kwargs], …], or one of them alone.
    const inputs = typeof node[0] === 'string' ? [node] : node;
    const refs = inputs.map((input) => new Ref(input[0], input[1], input[2]));
    const kwargs = Object.entries((inputs[0]?.[3] ?? {}) as Json);
    return {
      args: refs.length === 1 ? refs : [refs],
      kwargs: Object.fromEntries(kwargs.map(([name, value]) => [name, asRef(value)])),
    };
  });
}

/** Keras 3: tensors are objects that name where they come from. */
function withRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withRefs);
  if (typeof value !== 'object' || value === null) return value;
  const { class_name: className, config } = value as Json;
  if (className === '__keras_tensor__') {
    const [layer, node, output] = (config as Json).keras_history as [string, number, number];
    return new Ref(layer, node, output);
  }
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withRefs(entry)]));
}

/** Keras 2: tensors among keyword arguments are [layer, node, output]. */
function asRef(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const [layer, node, output] = value;
  const isRef = typeof layer === 'string' && Number.isInteger(node) && Number.isInteger(output);
  return isRef && layer !== '_CONSTANT_VALUE' ? new Ref(layer, node, output) : value.map(asRef);
}

/** One ref, a list or an object of them. */
function refList(value: unknown): Ref[] {
  if (Array.isArray(value) && typeof value[0] === 'string') return [new Ref(value[0], value[1], value[2])];
  return Object.values((value ?? {}) as object).flatMap((entry) => refList(entry));
}

/** The graph with the layers of models within it in their places. */
function flat(nested: Graph): Graph {
  const inner = nested.layers.filter(({ className }) => models.includes(className));
  if (inner.length === 0) return nested;
  const { version } = nested;
  const inCalls = refsIn(nested.layers.map(({ calls }) => calls));
  const graph: Graph = {
    ...nested,
    layers: nested.layers.map((layer) => ({
      ...layer,
      calls: counted(layer.calls, inCalls, { inner, version }),
    })),
    outputs: counted(nested.outputs, nested.outputs, { inner, version }),
  };
  const isModel = ({ className }: GraphLayer) => models.includes(className);
  const taken = new Set(graph.layers.filter((layer) => !isModel(layer)).map(({ name }) => name));
  const moved = new Map<string, Ref>();
  const layers = graph.layers.flatMap((layer) =>
    isModel(layer) ? inlined(layer, { graph, taken, moved }) : [layer],
  );
  const resolve = (ref: Ref): Ref => (moved.has(ref.key) ? resolve(moved.get(ref.key)!) : ref);
  return {
    ...graph,
    layers: layers.map((layer) => ({ ...layer, calls: mapRefs(layer.calls, resolve) as Call[] })),
    outputs: graph.outputs.map(resolve),
  };
}

interface Around {
  readonly graph: Graph;
  /** Names of layers. */
  readonly taken: Set<string>;
  /** Where outputs of inlined models are now. */
  readonly moved: Map<string, Ref>;
}

/** The layers of a model, called as often as the model is. */
function inlined(model: GraphLayer, { graph, taken, moved }: Around): GraphLayer[] {
  const { className, config, calls, name } = model;
  const inner = flat(graphOf({ class_name: className, config }, graph.version));
  const inputs = new Map(inner.inputs.map((ref, n) => [ref.layer, n]));
  const kept = inner.layers.filter((layer) => !inputs.has(layer.name));
  const names = new Map(
    kept.map((layer) => [layer.name, taken.has(layer.name) ? `${name}/${layer.name}` : layer.name]),
  );
  for (const unique of names.values()) taken.add(unique);
  const counts = new Map(kept.map((layer) => [layer.name, layer.calls.length]));
  const outer = (value: unknown, n: number) =>
    mapRefs(value, ({ layer, node, output }) => {
      const input = inputs.get(layer);
      if (input !== undefined) return refsIn(calls[n]!.args)[input] ?? refsIn(calls[n]!.kwargs)[input];
      return new Ref(names.get(layer)!, node + n * counts.get(layer)!, output);
    });
  calls.forEach((_, n) => {
    inner.outputs.forEach((ref, output) => {
      moved.set(new Ref(name, n, output).key, outer(ref, n) as Ref);
    });
  });
  return kept.map((layer) => ({
    ...layer,
    name: names.get(layer.name)!,
    names: [...new Set([names.get(layer.name)!, ...layer.names, `${name}/${layer.name}`])],
    calls: calls.flatMap((_, n) => layer.calls.map((call) => outer(call, n) as Call)),
  }));
}

/**
 * The number of a model's first call among refs. Keras 2 gives a model a call 0 of its own, from its inputs to its outputs; Keras 3
 * does so for functional ones where the outputs of the model around them are listed.
 */
function firstNode({ name, className, calls }: GraphLayer, refs: readonly Ref[], version: number): number {
  const used = refs.filter(({ layer }) => layer === name).map(({ node }) => node);
  if (calls.length === 1 && used.length > 0) return used[0]!;
  if (version < 3 || used.includes(calls.length)) return 1;
  return used.includes(0) || className === 'Sequential' ? 0 : 1;
}

/** The value with the calls of models counted from 0. */
function counted<T>(value: T, refs: readonly Ref[], { inner, version }: Inner): T {
  const first = new Map(inner.map((model) => [model.name, firstNode(model, refs, version)]));
  return mapRefs(value, (ref) => new Ref(ref.layer, ref.node - (first.get(ref.layer) ?? 0), ref.output)) as T;
}

interface Inner {
  readonly inner: readonly GraphLayer[];
  readonly version: number;
}

/** The value with other refs in it. */
function mapRefs(value: unknown, change: (ref: Ref) => unknown): unknown {
  if (value instanceof Ref) return change(value);
  if (Array.isArray(value)) return value.map((entry) => mapRefs(entry, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, mapRefs(entry, change)]));
}
