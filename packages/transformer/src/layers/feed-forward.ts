// The feed-forward layer: f(x W₁) W₂, or with a gate (f(x W_g) ⊙ x W₁) W₂ (Shazeer 2020, 2002.05202).
import { checkFlag, checkOneOf, checkSizes, normalizeOptions, project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type Activation, activations } from './activation';
import { Layer, type LayerParts } from './layer';

/** What a feed-forward layer does between its ends. Plain JSON. */
export interface FeedForwardOptions {
  /** F, the width between the two linear maps. */
  readonly hiddenDim: number;
  /** f. Default: `gelu`. */
  readonly activation?: Activation | undefined;
  /** A third linear map whose activation multiplies: f(x W_g) ⊙ x W₁. Default: false. */
  readonly gated?: boolean | undefined;
  /** A bias after each linear map. Default: true. */
  readonly useBias?: boolean | undefined;
}

/** Describes a `FeedForward`. Plain JSON. */
export interface FeedForwardConfig extends FeedForwardOptions {
  /** E, the width of input and output. */
  readonly embedDim: number;
  /** Same config and name, same start. Without it each layer starts differently. */
  readonly seed?: number | undefined;
}

const kind = 'FeedForward';
const options = ['embedDim', 'hiddenDim', 'activation', 'gated', 'useBias', 'seed'] as const;

/** Two linear maps with a function between them: the variables `up/kernel` [E, F], `gate/kernel` [E, F] and `down/kernel` [F, E]. */
export class FeedForward extends Layer<FeedForwardConfig> {
  /** Its name in JSON. */
  static readonly kind = kind;
  private readonly activation: (x: tf.Tensor) => tf.Tensor;

  /** @throws ConfigError for options that cannot be */
  constructor(config: FeedForwardConfig, parts: LayerParts = {}) {
    const known = normalizeOptions(kind, 'config', config, options) as FeedForwardConfig;
    const { embedDim, hiddenDim, activation = 'gelu', gated = false, useBias = true } = known;
    checkSizes(kind, { embedDim, hiddenDim });
    checkOneOf(kind, 'activation', activation, Object.keys(activations));
    checkFlag(kind, 'gated', gated);
    checkFlag(kind, 'useBias', useBias);
    const maps: [string, number, number][] = [
      ['up', embedDim, hiddenDim],
      ...(gated ? [['gate', embedDim, hiddenDim] as [string, number, number]] : []),
      ['down', hiddenDim, embedDim],
    ];
    const shapes = maps.flatMap(([name, from, to]): [string, number[]][] => [
      [`${name}/kernel`, [from, to]],
      ...(useBias ? [[`${name}/bias`, [to]] as [string, number[]]] : []),
    ]);
    super({ kind, config: known, parts, shapes: Object.fromEntries(shapes) });
    this.activation = activations[activation];
  }

  /**
   * @param x [B, S, E]
   * @returns [B, S, E]
   * @throws ShapeError for another width
   */
  apply(x: tf.Tensor): tf.Tensor3D {
    return tf.tidy(() => {
      const up = this.map('up', x); // [B, S, F]
      const hidden = this.config.gated
        ? tf.mul(this.activation(this.map('gate', x)), up)
        : this.activation(up);
      return this.map('down', hidden);
    });
  }

  private map(name: 'up' | 'gate' | 'down', x: tf.Tensor): tf.Tensor3D {
    return project(x, this.weights.matrix(`${name}/kernel`), this.weights.find(`${name}/bias`));
  }
}
