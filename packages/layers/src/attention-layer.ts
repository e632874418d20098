// Attention of any variant as a tf.layer.
import { type Attention, ConfigError, type Mask, ShapeError } from '@polyhead/core';
import { checkFlag, checkNumber, checkOneOf } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { fullyMaskedRowsSeeAll, handedMask, masksOf } from './padding';
import {
  byRole,
  checkInputs,
  type LayerOptions,
  listOfShapes,
  listOfTensors,
  optionsOf,
  type Parts,
  type Shape,
  WrappedLayer,
  widthOf,
  withConfig,
} from './wrapped-layer';

/**
 * What an input of an `AttentionLayer` is: `keys` is a mask of padding [B, Skv], `pairs` one that ends in [Sq, Skv], `rows` one of
 * queries, [B, Sq].
 */
export type AttentionInput = 'query' | 'key' | 'value' | 'keys' | 'pairs' | 'rows';

/** A part as JSON: `{ kind, config, parts }`, with instances or JSON inside. */
export interface PartJson {
  /** The name of a registered export, such as `MultiHeadAttention`. */
  readonly kind: string;
  /** Its config. Widths of the inputs may be left out. */
  readonly config?: object;
  /** Position method, kernel, name: made, or as JSON. */
  readonly parts?: object;
}

/** Describes an `AttentionLayer`, beside the options that every tf.layer has. */
export interface AttentionLayerOptions extends LayerOptions {
  /** A layer of a variant, made; or JSON of a registered one, whose `embedDim` and other widths come from the inputs. */
  readonly attention?: Attention | PartJson;
  /** Which pairs may attend. Default: all. */
  readonly mask?: Mask | object | undefined;
  /** What each input is. Default by their number: query; query, key; query, key, value. */
  readonly inputs?: readonly AttentionInput[] | undefined;
  /** What a fully masked row, which sees no key, gives: zeros, or as in Keras the mean of all values; then `mask` is causal. Default: `zeros`. */
  readonly fullyMaskedRows?: 'zeros' | 'mean' | undefined;
  /** Whether the mask that tfjs hands on from `Embedding` or `Masking` hides keys in self-attention. Default: true. */
  readonly usePadding?: boolean | undefined;
  /** Token order of query row 0, for masks. Default: the last query stands at the last key. */
  readonly queryStart?: number | undefined;
  /** The weights [B, H, Sq, Skv] as second output. Default: false. */
  readonly returnWeights?: boolean | undefined;
  /** The axes that count tokens, where inputs have more than one: [B, height, width, E] has [1, 2]. Default: all between. */
  readonly axes?: readonly number[] | undefined;
  /** What `getConfig` wrote, in place of `attention` and `mask`. */
  readonly written?: string | undefined;
}

interface Made extends Parts {
  readonly attention: Attention;
  readonly mask?: Mask;
}

const roles: readonly AttentionInput[] = ['query', 'key', 'value', 'keys', 'pairs', 'rows'];
const ownOptions: readonly (keyof AttentionLayerOptions)[] = [
  ...(['attention', 'mask', 'inputs', 'fullyMaskedRows', 'usePadding'] as const),
  ...(['queryStart', 'returnWeights', 'axes', 'written'] as const),
];

/** @throws ConfigError, naming the option */
function checkOptions({
  inputs,
  fullyMaskedRows,
  usePadding,
  queryStart,
  returnWeights,
  axes,
}: AttentionLayerOptions) {
  const where = 'AttentionLayer';
  checkFlag(where, 'usePadding', usePadding);
  checkFlag(where, 'returnWeights', returnWeights);
  checkOneOf(where, 'fullyMaskedRows', fullyMaskedRows, ['zeros', 'mean']);
  if (queryStart !== undefined)
    checkNumber(where, 'queryStart', queryStart, [Number.isInteger, 'a whole number']);
  if (inputs !== undefined) checkInputs(where, inputs, roles);
  if (axes === undefined || (Array.isArray(axes) && axes.every(Number.isInteger))) return;
  throw new ConfigError(where, 'axes must be a list of whole numbers', { axes });
}

/**
 * Self- and cross-attention as a tf.layer: inputs are [query], [query, key] or [query, key, value], [B, S, E] each, and masks
 * where `inputs` names them.
 *
 * @example
 * registerLayers([MultiHeadAttention, causal]);
 * const attention = { kind: 'MultiHeadAttention', config: { numHeads: 4 } };
 * model.add(new AttentionLayer({ attention, mask: causal() }));
 */
export class AttentionLayer extends WrappedLayer<Made> {
  /** Its name in files: tfjs has a class MultiHeadAttention that it does not export. */
  static readonly className = 'PolyheadAttention';
  private readonly options: Omit<
    AttentionLayerOptions,
    keyof LayerOptions | 'attention' | 'mask' | 'written'
  >;
  private step = 0;

  /** @throws ConfigError without attention, and for options that cannot be */
  constructor(given: AttentionLayerOptions) {
    const { attention, mask, written, ...options } = optionsOf('AttentionLayer', given, ownOptions);
    super(options, { attention, mask }, written);
    const { inputs, usePadding, fullyMaskedRows, queryStart, returnWeights, axes } = options;
    this.options = { inputs, usePadding, fullyMaskedRows, queryStart, returnWeights, axes };
    if (!attention && written === undefined)
      throw new ConfigError('AttentionLayer', 'attention must be given, made or as JSON', { attention });
    checkOptions(options);
    const { name = (mask as { kind?: string } | undefined)?.kind } = (mask ?? {}) as Partial<Mask>;
    if (fullyMaskedRows === 'mean' && name !== undefined && name !== 'causal')
      throw new ConfigError('AttentionLayer', "fullyMaskedRows 'mean' needs a causal mask, or none", {
        mask: name,
      });
  }

  protected override get kinds() {
    return {
      attention: { methods: ['apply', 'cacheShape'], such: "a variant's layer, or { kind, config } of one" },
      mask: { methods: ['spans'], such: 'a mask, such as causal(), or its JSON' },
    };
  }

  protected override completed(parts: Parts, shapes: readonly Shape[]): Parts {
    const { query, key, value } = this.shapesOf(shapes);
    const [E, ofKeys, ofValues] = [query, key, value].map((shape) => widthOf(this.name, shape));
    if (query.length < 3) throw new ShapeError(this.name, 'query must be [B, S, E]', { query });
    if (query.length > 3 || this.options.axes) this.checkAxes(query);
    const widths = {
      embedDim: E,
      ...(ofKeys !== E && { keyEmbedDim: ofKeys }),
      ...(ofValues !== ofKeys && { valueEmbedDim: ofValues }),
    };
    return { ...parts, attention: withConfig(parts.attention, widths) };
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] | (number | null)[][] {
    const { query, key } = this.shapesOf(listOfShapes(inputShape));
    const { outputDim = query.at(-1)!, numHeads = null } = this.config;
    const output = [...query.slice(0, -1), outputDim];
    const memory = this.config.numMemoryKeyValues || this.config.addZeroAttention;
    const weights = [query[0]!, numHeads, query[1]!, memory ? null : key[1]!];
    return this.options.returnWeights ? [output, weights] : output;
  }

  override call(inputs: tf.Tensor | tf.Tensor[], kwargs: { mask?: unknown; training?: boolean }) {
    return tf.tidy(() => {
      this.invokeCallHook(inputs, kwargs);
      const roles = this.roles(listOfTensors(inputs));
      const one = (role: AttentionInput) => roles.get(role)?.[0];
      const query = one('query')!;
      const isSelf = !one('key') && !one('value');
      const hands = isSelf && query.rank === 3 && this.options.usePadding !== false;
      const { returnWeights, queryStart, fullyMaskedRows } = this.options;
      const hidden = {
        mask: this.parts.mask,
        keys: [...(roles.get('keys') ?? []), ...(hands ? handedMask(this, query, kwargs) : [])],
        pairs: roles.get('pairs') ?? [],
        rows: roles.get('rows') ?? [],
      };
      const { mask, bias } =
        fullyMaskedRows === 'mean'
          ? fullyMaskedRowsSeeAll(this.name, hidden, [
              query.shape[1]!,
              (one('key') ?? one('value') ?? query).shape[1]!,
            ])
          : { mask: masksOf(this.name, hidden), bias: undefined };
      const training = kwargs?.training ? { seed: this.step++ } : undefined;
      const [key = one('value'), value] = [one('key'), one('value')];
      const folded = (x: tf.Tensor | undefined) => x && this.folded(x);
      const { output, weights } = this.parts.attention.apply(
        { query: folded(query)!, key: folded(key), value: folded(value) },
        { mask, bias, queryStart, training, returns: returnWeights ? ['weights'] : [] },
      );
      const result = this.unfolded(output, query.shape);
      return returnWeights ? [result, weights!] : result;
    });
  }

  override computeMask(inputs: tf.Tensor | tf.Tensor[], mask?: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const first = super.computeMask(inputs, mask);
    return (this.options.returnWeights ? [first, null] : first) as tf.Tensor;
  }

  /** What tfjs writes into files of models, and makes the layer of again. */
  override getConfig() {
    const options = Object.entries(this.options).filter(([, value]) => value !== undefined && value !== null);
    return { ...super.getConfig(), ...Object.fromEntries(options) };
  }

  private get config() {
    return this.parts.attention.config as {
      readonly outputDim?: number;
      readonly numHeads?: number;
      readonly numMemoryKeyValues?: number;
      readonly addZeroAttention?: boolean;
    };
  }

  private roles<T>(inputs: readonly T[]): ReadonlyMap<string, readonly T[]> {
    const roles = byRole(this.name, inputs, {
      names: this.options.inputs ?? undefined,
      defaults: ['query', 'key', 'value'],
    });
    if (roles.get('query')?.length === 1) return roles;
    throw new ConfigError(this.name, 'one of the inputs must be the query', { inputs: this.options.inputs });
  }

  private shapesOf(shapes: readonly Shape[]) {
    const roles = this.roles(shapes);
    const query = roles.get('query')![0]!;
    const value = roles.get('value')?.[0];
    const key = roles.get('key')?.[0] ?? value ?? query;
    return { query, key, value: value ?? key };
  }

  /** The axes of a shape that count tokens. */
  private axesOf({ length }: Shape): readonly number[] {
    return this.options.axes ?? Array.from({ length: length - 2 }, (_, n) => n + 1);
  }

  private checkAxes(query: Shape): void {
    const axes = this.axesOf(query);
    const isAxis = (axis: number) => Number.isInteger(axis) && axis > 0 && axis < query.length - 1;
    const { inputs = [], returnWeights = false } = this.options;
    const hasMask = this.has('mask') || inputs.some((role) => ['keys', 'pairs', 'rows'].includes(role));
    const areAxes = axes.length > 0 && axes.every(isAxis) && new Set(axes).size === axes.length;
    if (areAxes && (query.length === 3 || (!hasMask && !returnWeights))) return;
    const rule =
      'axes must be some between the first and the last, and where inputs have more than three, no mask and no weights go with them';
    throw new ConfigError(this.name, rule, { axes, shape: query, mask: hasMask, returnWeights });
  }

  /** [B, …, E] to [B · other axes, tokens, E]. */
  private folded(x: tf.Tensor): tf.Tensor {
    if (x.rank === 3) return x;
    const { order, tokens } = this.order(x.shape);
    return tf.reshape(tf.transpose(x, [...order]), [-1, tokens, x.shape.at(-1)!]);
  }

  /** [B · other axes, tokens, outputDim] back to the axes of the query. */
  private unfolded(output: tf.Tensor, shape: readonly number[]): tf.Tensor {
    if (shape.length === 3) return output;
    const { order } = this.order(shape);
    const sizes = [...order.slice(0, -1).map((axis) => shape[axis]!), output.shape.at(-1)!];
    const back = shape.map((_, axis) => order.indexOf(axis));
    return tf.transpose(tf.reshape(output, sizes), back);
  }

  /** The axes of a shape: those that do not count tokens, those that do, the last. */
  private order(shape: readonly number[]) {
    const axes = this.axesOf(shape);
    const last = shape.length - 1;
    const others = shape.map((_, axis) => axis).filter((axis) => axis < last && !axes.includes(axis));
    const tokens = axes.reduce((product, axis) => product * shape[axis]!, 1);
    return { order: [...others, ...axes, last], tokens };
  }
}
