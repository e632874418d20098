// Which tensors of a Keras model have a mask of padding, and layers that compute it.
import { ConfigError } from '@polyhead/core';
import { type Graph, type GraphLayer, type Json, Ref, refsIn } from './graph';
import type { MaskRule } from './mask-layers';

/** Layers whose output has the mask of their first input. */
const passing = new Set([
  ...[
    'Activation',
    'ActivityRegularization',
    'AlphaDropout',
    'BatchNormalization',
    'Dense',
    'Dropout',
    'ELU',
  ],
  ...['GaussianDropout', 'GaussianNoise', 'GroupNormalization', 'GroupQueryAttention', 'Identity'],
  ...[
    'LayerNormalization',
    'LeakyReLU',
    'MultiHeadAttention',
    'PReLU',
    'RMSNormalization',
    'ReLU',
    'Softmax',
  ],
  ...['SpatialDropout1D', 'ThresholdedReLU', 'UnitNormalization'],
]);
const merging = new Set(['Add', 'Average', 'Maximum', 'Minimum', 'Multiply', 'Subtract']);
/** Layers that tfjs itself hands masks to. */
const recurrent = new Set(['Bidirectional', 'GRU', 'LSTM', 'RNN', 'SimpleRNN', 'TimeDistributed']);

/** The masks of a graph. Layers that compute them are made where one is asked for. */
export class GraphMasks {
  /** Those made so far. */
  readonly layers: GraphLayer[] = [];
  private readonly byName: ReadonlyMap<string, GraphLayer>;
  private readonly known = new Map<string, Ref | undefined>();

  constructor(private readonly graph: Graph) {
    this.byName = new Map(graph.layers.map((layer) => [layer.name, layer]));
  }

  /** The mask that a layer finds with a tensor, [B, S]; undefined where Keras has none. */
  of(ref: Ref, reader: GraphLayer): Ref | undefined {
    if (this.isTaken(ref, reader)) return undefined;
    if (!this.known.has(ref.key)) this.known.set(ref.key, this.find(ref));
    return this.known.get(ref.key);
  }

  /** 2 or 3. */
  get version(): number {
    return this.graph.version;
  }

  /** The mask of a tensor that hides nothing. */
  none(ref: Ref): Ref {
    return this.make('all', [ref]);
  }

  /** What all of several masks show. */
  all(masks: readonly Ref[]): Ref | undefined {
    return this.joined('and', masks);
  }

  /** Whether a layer that tfjs hands masks to has an input with a mask. */
  get reachRecurrentLayers(): boolean {
    const layers = this.graph.layers.filter(({ className }) => recurrent.has(className));
    return layers.some((layer) =>
      layer.calls.some(({ args }) => refsIn(args).some((ref) => this.of(ref, layer) !== undefined)),
    );
  }

  /**
   * Keras 3's MultiHeadAttention takes the masks off the tensors that it reads: layers that run later find none. Layers are
   * listed in the order in which they run.
   */
  private isTaken(ref: Ref, reader: GraphLayer): boolean {
    if (this.graph.version < 3) return false;
    const before = this.graph.layers.slice(
      0,
      this.graph.layers.findIndex(({ name }) => name === reader.name),
    );
    return before.some(
      ({ className, calls }) =>
        className === 'MultiHeadAttention' && refsIn(calls).some(({ key }) => key === ref.key),
    );
  }

  private find(ref: Ref): Ref | undefined {
    const layer = this.byName.get(ref.layer);
    const call = layer?.calls[ref.node];
    if (!layer || !call) return undefined;
    const { className, config } = layer;
    const inputs = refsIn([call.args, call.kwargs]);
    // A mask that the layer was handed is that of its output.
    const { mask: handed } = call.kwargs;
    if (handed instanceof Ref && (passing.has(className) || recurrent.has(className))) return handed;
    if (className === 'Embedding')
      return config.mask_zero ? this.make('tokens', inputs.slice(0, 1), 0) : undefined;
    if (className === 'Masking')
      return this.make('rows', inputs.slice(0, 1), (config.mask_value as number) ?? 0);
    if (passing.has(className) && !isOperation(layer)) return inputs[0] && this.of(inputs[0], layer);
    if (recurrent.has(className))
      return returnsRows(layer) && inputs[0] ? this.of(inputs[0], layer) : undefined;
    if (merging.has(className) && !isOperation(layer)) return this.merged(layer, inputs);
    if (className === 'Concatenate') return this.concatenated(layer, inputs);
    return undefined;
  }

  /** Keras 3 shows a row that any input shows, if all have masks; Keras 2 one that all inputs with masks show. */
  private merged(layer: GraphLayer, inputs: readonly Ref[]): Ref | undefined {
    const masks = inputs.map((input) => this.of(input, layer));
    const present = masks.filter((mask) => mask !== undefined);
    if (this.graph.version > 2 && present.length < masks.length) return undefined;
    return this.joined(this.graph.version > 2 ? 'or' : 'and', present);
  }

  /** Of tokens one behind the other, those without a mask are shown. */
  private concatenated(layer: GraphLayer, inputs: readonly Ref[]): Ref | undefined {
    const { axis = -1 } = layer.config;
    if (axis === -1 || axis === 2) return this.merged(layer, inputs);
    const masks = inputs.map((input) => this.of(input, layer));
    if (masks.every((mask) => mask === undefined)) return undefined;
    if (axis === 1 || axis === -2)
      return this.make(
        'concat',
        inputs.map((input, n) => masks[n] ?? this.none(input)),
      );
    const rule = 'a mask cannot be followed through a Concatenate over this axis';
    throw new ConfigError('loadKerasModel', rule, { layer: layer.name, axis });
  }

  private joined(rule: MaskRule, masks: readonly Ref[]): Ref | undefined {
    const different = [...new Map(masks.map((mask) => [mask.key, mask])).values()];
    return different.length > 1 ? this.make(rule, different) : different[0];
  }

  private make(rule: MaskRule, inputs: readonly Ref[], value = 0): Ref {
    const key = JSON.stringify([rule, inputs, value]);
    const same = this.layers.find(({ config }) => config.key === key);
    if (same) return new Ref(same.name, 0, 0);
    const name = this.freeName();
    const config = { name, rule, value, key };
    const calls = [{ args: [inputs], kwargs: {} }];
    this.layers.push({
      name,
      className: 'PolyheadMask',
      module: '',
      isOfKeras: true,
      config,
      calls,
      names: [],
    });
    return new Ref(name, 0, 0);
  }

  private freeName(): string {
    let n = this.layers.length;
    while (this.byName.has(`padding_mask_${n}`)) n++;
    return `padding_mask_${n}`;
  }
}

/** True for an operation of Keras 3, such as that of `x + y`: its result has no mask. */
export function isOperation({ module }: GraphLayer): boolean {
  return /^keras\b.*\.ops\b/.test(module);
}

function returnsRows({ className, config }: GraphLayer): boolean {
  if (className === 'TimeDistributed') return true;
  const own = className === 'Bidirectional' ? ((config.layer as Json).config as Json) : config;
  return own.return_sequences === true;
}
