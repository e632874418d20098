// What variants with projected heads have in common; a variant adds its `apply`, which reads as its formula.
import type * as tf from '@tensorflow/tfjs-core';
import { checkLayerCall, checkLayerInputs } from '../checks/check-layer';
import { checkKernel } from '../checks/check-options';
import { normalizeOptions } from '../checks/normalize-options';
import { composed } from '../composed/composed';
import { ConfigError } from '../contract/errors';
import type { AttendResult } from '../contract/kernel';
import type { CacheShape } from '../contract/key-value-cache';
import type {
  Attention,
  LayerCall,
  LayerInputs,
  LayerParts,
  LayerResult,
  NamedVariable,
} from '../contract/layer';
import type { PositionMethod } from '../contract/position';
import type { HeadsCall } from './attend-heads';
import type { AttentionConfig, AttentionSizes } from './attention-config';
import { mergeHeads, splitHeads } from './heads';
import { normalize } from './normalize';
import { gated } from './output-gate';
import { project } from './project';
import { seedOf } from './seed';
import { type Initializer, type VariableShapes, Weights } from './weights';

export interface AttentionParts extends LayerParts {
  /** First numbers of the kernels. Default: Glorot uniform. */
  readonly initializer?: Initializer;
}

export abstract class AttentionLayer<Config extends AttentionConfig> implements Attention<Config> {
  readonly config: Readonly<Config>;
  protected readonly parts: AttentionParts;
  protected readonly weights: Weights;
  private readonly seed: number;

  /** @param name the variant's, for errors */
  protected constructor(
    private readonly name: string,
    config: Config,
    parts: AttentionParts,
    private readonly shapes: { readonly sizes: AttentionSizes; readonly variables: VariableShapes },
  ) {
    this.parts = normalizeOptions(name, 'parts', parts, ['kernel', 'position', 'initializer']);
    if (this.parts.kernel) checkKernel(name, this.parts.kernel);
    if (this.parts.position) checkPosition(name, this.parts.position, shapes.sizes);
    this.config = frozen(config);
    this.seed = config.seed ?? Math.floor(Math.random() * 2 ** 31);
    const { initializer } = this.parts;
    this.weights = new Weights(name, shapes.variables, {
      seed: this.seed,
      ...(initializer && { initializer }),
    });
  }

  abstract apply(inputs: LayerInputs, call?: LayerCall): LayerResult;

  get variables(): readonly NamedVariable[] {
    const ofPosition = this.parts.position?.variables ?? [];
    const prefixed = ofPosition.map(({ name, variable }) => ({ name: `position/${name}`, variable }));
    return [...this.weights.variables, ...prefixed];
  }

  cacheShape(batch: number): CacheShape {
    const { numKeyValueHeads: heads, headDim: keySize, valueHeadDim: valueSize } = this.shapes.sizes;
    return { batch, heads, keySize, valueSize };
  }

  getWeights(): Record<string, tf.Tensor> {
    return this.weights.read();
  }

  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void {
    this.weights.write(weights);
  }

  dispose(): void {
    this.weights.dispose();
  }

  /**
   * The inputs of a call, with what is left out filled in, and what of the call was given. Key and value are absent where
   * a sealed cache serves.
   */
  protected checked(inputs: LayerInputs, call: LayerCall) {
    const asked = checkLayerCall(this.name, call);
    return { ...checkLayerInputs(this.name, inputs, this.shapes.sizes, asked), asked };
  }

  /** [B, S, in] projected, split and, where the config says so, normalized: [B, H, S, D]. */
  protected heads(name: 'query' | 'key' | 'value', x: tf.Tensor3D): tf.Tensor4D {
    const { numHeads, numKeyValueHeads, queryKeyNorm: norm } = this.shapes.sizes;
    const split = (y: tf.Tensor3D) => splitHeads(y, name === 'query' ? numHeads : numKeyValueHeads);
    const projected = this.project(name, x);
    if (!norm || name === 'value') return split(projected);
    const numbers = { gain: this.weights.find(`${name}/gain`), offset: this.weights.find(`${name}/offset`) };
    if (norm.over === 'all') return split(normalize(projected, norm, numbers));
    return normalize(split(projected), norm, numbers);
  }

  /** What `attendHeads` is told beside the heads: the options of the config and of the call. */
  protected scoreOptions(call: LayerCall): Omit<HeadsCall, 'query' | 'cross'> {
    const { position } = this.parts;
    const { scale = position?.scale, softcap, dropout = 0 } = this.config;
    const { returns = [], kernel = this.parts.kernel ?? composed(), training, ...options } = call;
    const sinkLogits = this.weights.find('sinks/logits') as tf.Tensor1D | undefined;
    return {
      ...options,
      kernel,
      layer: { weight: (name) => this.weights.find(name) },
      returns: returns.filter((name) => name !== 'headOutputs'),
      ...(position && { position }),
      ...(sinkLogits && { sinkLogits }),
      ...(scale !== undefined && { scale }),
      ...(softcap !== undefined && { softcap }),
      ...(training &&
        dropout > 0 && { dropout: { rate: dropout, seed: seedOf(this.seed, `${training.seed}`) } }),
    };
  }

  /**
   * The heads' outputs [B, H, Sq, Dv] gated, where the config says so, merged and projected: [B, Sq, outputDim].
   *
   * @param query [B, Sq, E], which the gate is computed from
   */
  protected merged(
    { output: heads, ...rest }: AttendResult,
    query: tf.Tensor3D,
    call: LayerCall,
  ): LayerResult {
    const { returns = [] } = call;
    const { outputGate, numHeads } = this.shapes.sizes;
    const headOutputs = outputGate ? gated(heads, splitHeads(this.project('gate', query), numHeads)) : heads;
    const output = this.project('output', mergeHeads(headOutputs));
    return { ...rest, output, ...(returns.includes('headOutputs') && { headOutputs }) };
  }

  private project(name: 'query' | 'key' | 'value' | 'output' | 'gate', x: tf.Tensor3D): tf.Tensor3D {
    return project(x, this.weights.get(`${name}/kernel`), this.weights.find(`${name}/bias`));
  }
}

/** @throws ConfigError for what is no position method: it would be ignored; and for one that does not fit these heads */
function checkPosition(where: string, position: PositionMethod, sizes: AttentionSizes): void {
  const { rotate, tables } = position;
  const given = [rotate, tables].filter((method) => method !== undefined);
  if (given.length > 0 && given.every((method) => typeof method === 'function')) {
    position.check?.(sizes);
    return;
  }
  throw new ConfigError(where, 'position must be a PositionMethod, such as rotary({ headDim })', {
    position,
  });
}

/** A copy of a config that nobody changes any more. */
function frozen<Config extends object>(config: Config): Readonly<Config> {
  const copy = Object.entries(config).filter(([, value]) => value !== undefined && value !== null);
  return Object.freeze(
    Object.fromEntries(
      copy.map(([name, value]) => [name, typeof value === 'object' ? Object.freeze({ ...value }) : value]),
    ),
  ) as Readonly<Config>;
}
