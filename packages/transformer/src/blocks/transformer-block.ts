// A transformer block: attention and a feed-forward layer, each with a norm and a way around it.
//
//   pre       x + f(norm(x))                 (Xiong et al. 2020, 2002.04745)
//   post      norm(x + f(x))                 (Vaswani et al. 2017, 1706.03762)
//   sandwich  x + norm'(f(norm(x)))          (Ding et al. 2021, 2105.13290; Gemma 2)
//   parallel  x + attention(norm(x)) + feedForward(norm'(x))       (Wang and Komatsuzaki 2021; GPT-NeoX)
import {
  type Attention,
  type AttentionKernel,
  ConfigError,
  type Initializer,
  type KeyValueCache,
  type LayerCall,
  type Mask,
  type TokenPositions,
} from '@polyhead/core';
import {
  checkFlag,
  checkNumber,
  checkOneOf,
  checkSizes,
  cleanTidy,
  normalizeOptions,
} from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { dropout, type Training, trainingOf } from '../layers/dropout';
import { FeedForward, type FeedForwardOptions } from '../layers/feed-forward';
import { Layer, type LayerParts, type ModelPart } from '../layers/layer';
import { makeNorm, type NormOptions } from '../layers/norm';

/** What the blocks of a model have in common. Plain JSON. */
export interface BlockOptions {
  /** E, the width of tokens. */
  readonly embedDim: number;
  /** Which normalization. */
  readonly norm: NormOptions;
  /** Where it stands: see the formulas above. Default: `pre`. */
  readonly normPlacement?: 'pre' | 'post' | 'sandwich' | undefined;
  /** Attention and feed-forward layer read the same x; only with `pre`, and without cross-attention. Default: false. */
  readonly parallel?: boolean | undefined;
  /** What the feed-forward layer does. */
  readonly feedForward: FeedForwardOptions;
  /** Rate at which numbers are dropped behind each layer in training: at least 0, below 1. Default: 0. */
  readonly dropout?: number | undefined;
  /** Same config and name, same start of the variables that are not attention's. Without it each block starts differently. */
  readonly seed?: number | undefined;
}

/** What attention is made with: `(parts) => new MultiHeadAttention(config, { ...parts, position })`. */
export interface AttentionFactoryParts {
  /** What its variables are named by. */
  readonly name: string;
  /** That of the model. */
  readonly initializer: Initializer | undefined;
}

/** Makes the attention of a block: any variant. */
export type AttentionFactory = (parts: AttentionFactoryParts) => Attention;

/** Objects that a block is made of. */
export interface BlockParts extends LayerParts {
  /** Attention to the block's own tokens: a factory, or a layer that was made with the block's name before its own. */
  readonly attention: AttentionFactory | Attention;
  /** Attention to an encoder's output. Default: none. */
  readonly crossAttention?: AttentionFactory | Attention | undefined;
}

/** Options of one call of a block. */
export interface BlockCall {
  /** Which pairs of its own tokens may attend. Default: all. */
  readonly mask?: Mask | undefined;
  /** Where the tokens stand; heard where attention has a position method, or a cache. Default: behind those of the cache. */
  readonly positions?: readonly TokenPositions[] | undefined;
  /** Of earlier tokens. Default: none. */
  readonly cache?: KeyValueCache | undefined;
  /** [B]: new tokens of the cache that count. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** What an encoder gave, [B, Sm, E]; not needed where the cross cache is sealed. */
  readonly memory?: tf.Tensor | undefined;
  /** [B]: rows of the memory that count. Default: all. */
  readonly memoryLengths?: readonly number[] | undefined;
  /** Hides rows of the memory where there is no cross cache. Default: nothing. */
  readonly memoryMask?: Mask | undefined;
  /** Keys and values of the memory: filled and sealed by the first call. Default: none. */
  readonly crossCache?: KeyValueCache | undefined;
  /** In place of the layers' own kernel. */
  readonly kernel?: AttentionKernel | undefined;
  /** Switches dropout on. Default: off. */
  readonly training?: Training | undefined;
  /** Is told what each layer gives, while its tensors live. Default: nobody. */
  readonly onOutput?: ((given: LayerOutput) => void) | undefined;
}

/** What a layer of a block gives: with norms `pre` that is what it adds to the tokens. */
export interface LayerOutput {
  /** [B, S, E] */
  readonly output: tf.Tensor3D;
  /** The layer, where it is attention. */
  readonly attention?: Attention | undefined;
  /** Of attention: [B, H, S, Dv], where the layer returns them. */
  readonly headOutputs?: tf.Tensor4D | undefined;
}

/** What a block gives. */
export interface BlockResult {
  /** [B, S, E] */
  readonly output: tf.Tensor3D;
  /** The names of the kernels that ran. */
  readonly kernels: readonly string[];
}

const kind = 'TransformerBlock';
const options = ['embedDim', 'norm', 'normPlacement', 'parallel', 'feedForward', 'dropout', 'seed'] as const;

/**
 * Attention and a feed-forward layer, with norms and residuals.
 *
 * @example
 * const block = new TransformerBlock(
 *   { embedDim: 64, norm: { kind: 'rms' }, feedForward: { hiddenDim: 256, activation: 'silu', gated: true } },
 *   { attention: (parts) => new MultiHeadAttention({ embedDim: 64, numHeads: 4 }, parts) },
 * );
 * const { output } = block.apply(x, { mask: causal() });
 */
export class TransformerBlock extends Layer<BlockOptions> {
  /** Its name in JSON. */
  static readonly kind = kind;
  /** Attention to its own tokens. */
  readonly attention: Attention;
  /** Attention to an encoder's output. */
  readonly crossAttention: Attention | undefined;
  private readonly feedForward: FeedForward;
  private readonly norms: ReadonlyMap<string, Norm>;

  /** @throws ConfigError for options that cannot be */
  constructor(config: BlockOptions, { attention, crossAttention, ...parts }: BlockParts) {
    const known = normalizeOptions(kind, 'config', config, options) as BlockOptions;
    checkBlock(known, crossAttention !== undefined && crossAttention !== null);
    super({ kind, config: known, parts });
    const partsOf = (part: string) => ({
      name: this.name ? `${this.name}/${part}` : part,
      initializer: parts.initializer,
    });
    const made = this.makeParts((keep) => {
      const { embedDim, norm, normPlacement } = known;
      const attend = (name: string, from: AttentionFactory | Attention) =>
        typeof from === 'function'
          ? keep(checkAttention(name, from(partsOf(name))))
          : checkAttention(name, from);
      const self = attend('attention', attention);
      const cross = crossAttention ? attend('crossAttention', crossAttention) : undefined;
      const forward = { embedDim, ...known.feedForward, seed: this.seed };
      const feedForward = keep(new FeedForward(forward, partsOf('feedForward')));
      const layers = ['attention', ...(cross ? ['crossAttention'] : []), 'feedForward'];
      const isSandwich = normPlacement === 'sandwich';
      const names = layers.flatMap((layer) =>
        isSandwich ? [`${layer}Norm`, `${layer}OutputNorm`] : [`${layer}Norm`],
      );
      const norms = names.map((name) => [name, keep(makeNorm(kind, embedDim, norm, partsOf(name)))] as const);
      return { self, cross, feedForward, norms: new Map(norms) };
    });
    this.attention = made.self;
    this.crossAttention = made.cross;
    this.feedForward = made.feedForward;
    this.norms = made.norms;
  }

  /**
   * @param x [B, S, E]
   * @returns output [B, S, E]
   * @throws ShapeError, ConfigError, UnsupportedError as its layers do; a cross cache that was to be filled may then be filled
   *   and not sealed
   */
  apply(x: tf.Tensor, call: BlockCall = {}): BlockResult {
    const kernels: string[] = [];
    const output = cleanTidy(() => {
      const told = (given: LayerOutput) => {
        call.onOutput?.(given);
        return given.output;
      };
      const heard = ({ kernel, output, headOutputs }: Attended, attention: Attention) => {
        kernels.push(kernel);
        return told({ output, attention, headOutputs });
      };
      const self = (y: tf.Tensor3D) => heard(this.attendSelf(y, call), this.attention);
      const cross = (y: tf.Tensor3D) => heard(this.attendMemory(y, call), this.crossAttention!);
      const forward = (y: tf.Tensor3D) => told({ output: this.feedForward.apply(y) });
      const input = x as tf.Tensor3D;
      if (this.config.parallel) {
        const attended = this.dropped('attention', self(this.normalized('attentionNorm', input)), call);
        const mapped = this.dropped('feedForward', forward(this.normalized('feedForwardNorm', input)), call);
        return tf.add(input, tf.add(attended, mapped)) as tf.Tensor3D;
      }
      const attended = this.around('attention', input, [self, call]);
      const informed = this.crossAttention
        ? this.around('crossAttention', attended, [cross, call])
        : attended;
      return this.around('feedForward', informed, [forward, call]);
    });
    return { output, kernels };
  }

  protected override get children(): readonly ModelPart[] {
    const attention = [this.attention, ...(this.crossAttention ? [this.crossAttention] : [])];
    return [...attention, this.feedForward, ...this.norms.values()];
  }

  protected override partsOfJSON(): object {
    return { attention: this.attention, ...(this.crossAttention && { crossAttention: this.crossAttention }) };
  }

  /** A layer with its norms and its residual. */
  private around(
    name: string,
    x: tf.Tensor3D,
    [f, call]: readonly [(y: tf.Tensor3D) => tf.Tensor3D, BlockCall],
  ): tf.Tensor3D {
    switch (this.config.normPlacement) {
      case 'post':
        return this.normalized(`${name}Norm`, tf.add(x, this.dropped(name, f(x), call)));
      case 'sandwich': {
        const y = this.normalized(`${name}OutputNorm`, f(this.normalized(`${name}Norm`, x)));
        return tf.add(x, this.dropped(name, y, call));
      }
      default:
        return tf.add(x, this.dropped(name, f(this.normalized(`${name}Norm`, x)), call));
    }
  }

  private normalized(name: string, x: tf.Tensor3D): tf.Tensor3D {
    return this.norms.get(name)!.apply(x);
  }

  private dropped(name: string, x: tf.Tensor3D, { training }: BlockCall): tf.Tensor3D {
    return dropout(x, this.config.dropout ?? 0, this.trainingOf(training, `${name}/dropout`));
  }

  private attendSelf(x: tf.Tensor3D, call: BlockCall): Attended {
    const { mask, cache, lengths, kernel } = call;
    const positions = this.attention.hasPosition || cache ? call.positions : undefined;
    const training = this.trainingOf(call.training, 'attention');
    return this.attention.apply(
      { query: x },
      { mask, cache, lengths: cache && lengths, positions, kernel, training, returns: returnsOf(call) },
    );
  }

  private attendMemory(x: tf.Tensor3D, call: BlockCall): Attended {
    const { memory, memoryLengths, crossCache: cache, kernel } = call;
    const attention = this.crossAttention!;
    const training = this.trainingOf(call.training, 'crossAttention');
    const shared: LayerCall = { kernel, training, returns: returnsOf(call) };
    if (cache?.sealed) return attention.apply({ query: x }, { ...shared, cache });
    if (!memory) throw new ConfigError(kind, 'cross-attention needs a memory, or a sealed cache', { memory });
    if (!cache) return attention.apply({ query: x, key: memory }, { ...shared, mask: call.memoryMask });
    const result = attention.apply({ query: x, key: memory }, { ...shared, cache, lengths: memoryLengths });
    cache.seal();
    return result;
  }

  private trainingOf(training: Training | undefined, name: string): Training | undefined {
    return trainingOf(training, this.name ? `${this.name}/${name}` : name);
  }
}

type Norm = ReturnType<typeof makeNorm>;
type Attended = ReturnType<Attention['apply']>;

const returnsOf = ({ onOutput }: BlockCall) => (onOutput ? (['headOutputs'] as const) : undefined);

/** @throws ConfigError for what is no attention */
function checkAttention(name: string, layer: Attention): Attention {
  if (typeof layer?.apply === 'function' && typeof layer.cacheShape === 'function') return layer;
  const rule = `parts.${name} must be attention, or a function (parts) => attention`;
  throw new ConfigError(kind, rule, { [name]: layer });
}

function checkBlock(
  { embedDim, norm, normPlacement, parallel, dropout: rate = 0 }: BlockOptions,
  isCross: boolean,
): void {
  checkSizes(kind, { embedDim });
  if (norm === undefined)
    throw new ConfigError(kind, "norm must be given, such as { kind: 'rms' }", { norm });
  checkOneOf(kind, 'normPlacement', normPlacement, ['pre', 'post', 'sandwich']);
  checkFlag(kind, 'parallel', parallel);
  checkNumber(kind, 'dropout', rate, [(r) => r >= 0 && r < 1, 'at least 0 and below 1']);
  if (!parallel || ((normPlacement ?? 'pre') === 'pre' && !isCross)) return;
  throw new ConfigError(kind, "parallel needs normPlacement 'pre', and no cross-attention", {
    normPlacement,
    parallel,
  });
}
