// What variants with projected heads have in common; a variant adds its `apply`, which reads as its formula.
import type * as tf from '@tensorflow/tfjs-core';
import { checkSizes } from '../checks/check-config';
import { checkLayerCall, checkLayerInputs } from '../checks/check-layer';
import { checkKernel } from '../checks/check-options';
import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';
import type { AttendResult } from '../contract/kernel';
import type { CacheShape } from '../contract/key-value-cache';
import type {
  Attention,
  LayerCall,
  LayerInputs,
  LayerParts,
  LayerResult,
  LayerReturn,
  NamedVariable,
} from '../contract/layer';
import type { LayerWeights, PositionMethod } from '../contract/position';
import { defaultKernel } from '../kernel/default-kernel';
import { checkProducts } from '../products/default-products';
import { project } from '../products/project';
import type { HeadsCall } from './attend-heads';
import type { AttentionConfig, AttentionSizes, Projection } from './attention-config';
import { mergeHeads, splitHeads, UnsplitHeads } from './heads';
import { normalize } from './normalize';
import { gated } from './output-gate';
import { seedOf } from './seed';
import { type Initializer, type VariableShapes, Weights } from './weights';

/** Objects a layer with projected heads works with. */
export interface AttentionParts extends LayerParts {
  /** First numbers of the variables. Default: each has its own start, matrices Glorot uniform. */
  readonly initializer?: Initializer | undefined;
}

/** What a variant says of itself to its base. */
export interface VariantDescription {
  /** Of heads and inputs. */
  readonly sizes: AttentionSizes;
  /** Shapes of all variables, by short names. */
  readonly variables: VariableShapes;
  /** The starts of those that start otherwise than matrices, gains and other vectors do. */
  readonly starts?: { readonly [name: string]: Initializer } | undefined;
}

type Heads = Pick<HeadsCall, 'cross' | 'query' | 'key' | 'value'>;

/** The base of variants with projected heads: config, variables, weights, checks, cache sizes, JSON. */
export abstract class AttentionLayer<Config extends AttentionConfig> implements Attention<Config> {
  /** The parameters of its constructor, for JSON; a variant adds its `kind`. */
  static readonly parameters: readonly string[] = ['config', 'parts'];

  readonly config: Readonly<Config>;
  /** The objects that the layer was given. */
  protected readonly parts: AttentionParts;
  /** Its variables. */
  protected readonly weights: Weights;
  private readonly seed: number;
  /** Short names of its matrices, which a token would else join anew. */
  private readonly names: { [name in Projection]?: { readonly kernel: string; readonly bias: string } } = {};
  private readonly self: LayerWeights;

  /** @param variant its name, for errors and JSON */
  protected constructor(
    private readonly variant: string,
    config: Config,
    parts: AttentionParts,
    private readonly description: VariantDescription,
  ) {
    this.parts = normalizeOptions(variant, 'parts', parts ?? {}, [
      'kernel',
      'products',
      'position',
      'initializer',
      'name',
    ]);
    const { kernel, products, position, initializer, name } = this.parts;
    if (kernel) checkKernel(variant, kernel);
    if (products) checkProducts(variant, products);
    if (position) checkPosition(variant, position, description.sizes);
    checkParts(variant, this.parts);
    this.config = frozen(config);
    this.seed = config.seed ?? Math.floor(Math.random() * 2 ** 31);
    const { variables, starts } = description;
    this.weights = new Weights(variant, variables, { seed: this.seed, name, initializer, starts });
    this.self = { name: name ?? variant, weight: (short) => this.weights.floats(short) };
  }

  abstract apply<const Returns extends LayerReturn = never>(
    inputs: LayerInputs,
    call?: LayerCall<Returns>,
  ): LayerResult<Returns>;

  get variables(): readonly NamedVariable[] {
    const { position, name: prefix } = this.parts;
    const path = [...(prefix ? [prefix] : []), 'position'].join('/');
    const ofPosition = (position?.variables ?? []).map(({ name, variable }) => ({
      name: position?.name ? name : `${path}/${name}`,
      variable,
    }));
    return [...this.weights.variables, ...ofPosition];
  }

  /** True: it was given a position method. */
  get hasPosition(): boolean {
    return this.parts.position !== undefined;
  }

  /** @throws ConfigError unless `batch` is a whole number above 0 */
  cacheShape(batch: number): CacheShape {
    checkSizes(`${this.variant}.cacheShape`, { batch });
    const { numKeyValueHeads: heads, headDim: keySize, valueHeadDim: valueSize } = this.description.sizes;
    return { batch, heads, keySize, valueSize };
  }

  getWeights(): Record<string, tf.Tensor> {
    return this.weights.read();
  }

  /**
   * A matrix is [in, out]; a square one that is transposed cannot be told from one that is not.
   *
   * @throws ShapeError for missing, unknown or misshapen weights; then nothing is set
   */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void {
    this.weights.write(weights);
  }

  dispose(): void {
    this.weights.dispose();
  }

  /**
   * Plain JSON that `fromConfig` reads: config, drawn seed, name, position method and kernel. An initializer has done its
   * work, and is no part of it.
   *
   * @throws ConfigError where a part has no JSON
   */
  toJSON(): object {
    const { kind = this.variant } = this.constructor as { kind?: string };
    const { initializer: _, ...parts } = this.parts;
    for (const [name, part] of Object.entries(parts)) {
      if (typeof part !== 'object' || typeof part.toJSON === 'function') continue;
      throw new ConfigError(`${this.variant}.toJSON`, `parts.${name} must have a toJSON`, { [name]: part });
    }
    const config = { ...this.config, seed: this.seed };
    return { kind, config, ...(Object.keys(parts).length > 0 && { parts }) };
  }

  /** The inputs of a call, with what is left out filled in, and its options. Key and value are absent where a sealed cache serves. */
  protected checked<Returns extends LayerReturn>(inputs: LayerInputs, call: LayerCall<Returns>) {
    const options = checkLayerCall(this.variant, call ?? {});
    const { query, key, value, cross } = checkLayerInputs(
      this.variant,
      inputs,
      this.description.sizes,
      options,
    );
    return { query, key, value, cross, options };
  }

  /** [B, S, in] projected and, where the config says so, normalized: heads [B, H, S, D], for `attendHeads` to split. */
  protected heads(name: 'query' | 'key' | 'value', x: tf.Tensor3D): HeadsCall['query'] {
    const { numHeads, numKeyValueHeads, queryKeyNorm: norm } = this.description.sizes;
    const heads = name === 'query' ? numHeads : numKeyValueHeads;
    const projected = this.project(name, x);
    if (!norm || name === 'value') return new UnsplitHeads(projected, heads);
    const numbers = { gain: this.weights.find(`${name}/gain`), offset: this.weights.find(`${name}/offset`) };
    if (norm.over === 'all') return new UnsplitHeads(normalize(projected, norm, numbers), heads);
    return normalize(splitHeads(projected, heads), norm, numbers);
  }

  /** What `attendHeads` is told beside the heads: the options of the config and of the call. With the heads, all of it. */
  protected scoreOptions(call: LayerCall): Omit<HeadsCall, keyof Heads>;
  protected scoreOptions(call: LayerCall, heads: Heads): HeadsCall;
  protected scoreOptions(call: LayerCall, heads?: Heads): object {
    const { position } = this.parts;
    const { scale = position?.scale, softcap, dropout = 0 } = this.config;
    const { mask, bias, cache, positions, queryStart, lengths, training, returns } = call;
    const drops = training !== undefined && dropout > 0;
    return {
      cross: heads?.cross,
      query: heads?.query,
      key: heads?.key,
      value: heads?.value,
      mask,
      bias,
      cache,
      positions,
      queryStart,
      lengths,
      kernel: call.kernel ?? this.parts.kernel ?? defaultKernel(),
      layer: this.self,
      returns: returns?.filter((name) => name !== 'headOutputs'),
      position,
      sinkLogits: this.weights.find('sinks/logits'),
      scale,
      softcap,
      dropout: drops ? { rate: dropout, seed: seedOf(this.seed, `${training.seed}`) } : undefined,
    };
  }

  /**
   * The heads' outputs [B, H, Sq, Dv] gated, where the config says so, merged and projected: [B, Sq, outputDim].
   *
   * @param query [B, Sq, E], which the gate is computed from
   */
  protected merged<Returns extends LayerReturn>(
    result: AttendResult,
    query: tf.Tensor3D,
    { returns }: LayerCall,
  ): LayerResult<Returns> {
    const { outputGate, numHeads } = this.description.sizes;
    const { output: heads } = result;
    const headOutputs = outputGate ? gated(heads, splitHeads(this.project('gate', query), numHeads)) : heads;
    const output = this.project('output', mergeHeads(headOutputs));
    const wantsHeads = returns?.includes('headOutputs') === true;
    const all = wantsHeads ? { ...result, output, headOutputs } : { ...result, output };
    return all as unknown as LayerResult<Returns>;
  }

  private project(name: Projection, x: tf.Tensor3D): tf.Tensor3D {
    this.names[name] ??= { kernel: `${name}/kernel`, bias: `${name}/bias` };
    const { kernel, bias } = this.names[name];
    return project(x, this.weights.matrix(kernel), this.weights.find(bias), this.parts);
  }
}

/** @throws ConfigError for what is no position method: it would be ignored; and for one that does not fit these heads */
function checkPosition(where: string, position: PositionMethod, sizes: AttentionSizes): void {
  const { rotate, tables } = position;
  const methods = [rotate, tables].filter((method) => method !== undefined);
  if (methods.length > 0 && methods.every((method) => typeof method === 'function')) {
    position.check?.(sizes);
    return;
  }
  throw new ConfigError(where, 'position must be a PositionMethod, such as rotary({ headDim })', {
    position,
  });
}

function checkParts(where: string, { name, initializer }: AttentionParts): void {
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new ConfigError(where, 'parts.name must be a text, such as "block0/attention"', { name });
  if (initializer !== undefined && typeof initializer !== 'function')
    throw new ConfigError(where, 'initializer must be a function (shape, seed, name) => tf.Tensor', {
      initializer,
    });
}

/** A copy of a config that nobody changes any more. */
function frozen<Config extends object>(config: Config): Readonly<Config> {
  const copy = Object.entries(config).filter(([, value]) => value !== undefined && value !== null);
  return Object.freeze(
    Object.fromEntries(copy.map(([name, value]) => [name, frozenValue(value)])),
  ) as Readonly<Config>;
}

function frozenValue(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze([...value]);
  return typeof value === 'object' ? Object.freeze({ ...value }) : value;
}
