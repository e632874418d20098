// A transformer block as a tf.layer.
import { ConfigError, type Mask } from '@polyhead/core';
import { checkFlag } from '@polyhead/core/layer';
import type { TransformerBlock } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import type { PartJson } from './attention-layer';
import { handedMask, masksOf } from './padding';
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

/** What an input of a `BlockLayer` is: `keys` and `memoryKeys` are masks of padding, [B, S] and [B, Sm]. */
export type BlockInput = 'x' | 'memory' | 'keys' | 'memoryKeys';

/** Describes a `BlockLayer`, beside the options that every tf.layer has. */
export interface BlockLayerOptions extends LayerOptions {
  /** A block, made; or JSON of one, `{ kind: 'TransformerBlock', config, parts: { attention } }`, whose widths come from the inputs. */
  readonly block?: TransformerBlock | PartJson;
  /** Which pairs of its own tokens may attend. Default: all. */
  readonly mask?: Mask | object | undefined;
  /** What each input is. Default by their number: x; x, memory. */
  readonly inputs?: readonly BlockInput[] | undefined;
  /** Whether the mask that tfjs hands on from `Embedding` or `Masking` hides the block's own keys. Default: true. */
  readonly usePadding?: boolean | undefined;
  /** What `getConfig` wrote, in place of `block` and `mask`. */
  readonly written?: string | undefined;
}

interface Made extends Parts {
  readonly block: TransformerBlock;
  readonly mask?: Mask;
}

const roles: readonly BlockInput[] = ['x', 'memory', 'keys', 'memoryKeys'];
const ownOptions: readonly (keyof BlockLayerOptions)[] = ['block', 'mask', 'inputs', 'usePadding', 'written'];

/**
 * Attention and a feed-forward layer with norms and residuals: inputs are [x] or [x, memory], [B, S, E] and [B, Sm, Em], and masks
 * where `inputs` names them.
 */
export class BlockLayer extends WrappedLayer<Made> {
  /** Its name in files. */
  static readonly className = 'PolyheadBlock';
  private readonly options: Pick<BlockLayerOptions, 'inputs' | 'usePadding'>;
  private step = 0;

  /** @throws ConfigError without a block, and for options that cannot be */
  constructor(given: BlockLayerOptions) {
    const { block, mask, written, ...options } = optionsOf('BlockLayer', given, ownOptions);
    super(options, { block, mask }, written);
    const { inputs, usePadding } = options;
    this.options = { inputs, usePadding };
    if (!block && written === undefined)
      throw new ConfigError('BlockLayer', 'block must be given, made or as JSON', { block });
    checkFlag('BlockLayer', 'usePadding', usePadding);
    if (inputs !== undefined) checkInputs('BlockLayer', inputs, roles);
  }

  protected override get kinds() {
    return {
      block: { methods: ['apply', 'setTrainable'], such: 'a TransformerBlock, or its JSON' },
      mask: { methods: ['spans'], such: 'a mask, such as causal(), or its JSON' },
    };
  }

  protected override completed(parts: Parts, shapes: readonly Shape[]): Parts {
    const roles = this.roles(shapes);
    const embedDim = widthOf(this.name, roles.get('x')![0]!);
    const memory = roles.get('memory')?.[0]?.at(-1);
    const block = withConfig(parts.block, { embedDim }) as PartJson | undefined;
    if (!block) return parts;
    const { attention, crossAttention, ...others } = (block.parts ?? {}) as Parts;
    const cross = { embedDim, ...(memory !== embedDim && { keyEmbedDim: memory }) };
    const layers = {
      ...(attention !== undefined && { attention: named('attention', withConfig(attention, { embedDim })) }),
      ...(crossAttention !== undefined && {
        crossAttention: named('crossAttention', withConfig(crossAttention, cross)),
      }),
    };
    return { ...parts, block: { ...block, parts: { ...others, ...layers } } };
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] {
    return [...this.roles(listOfShapes(inputShape)).get('x')![0]!];
  }

  override call(inputs: tf.Tensor | tf.Tensor[], kwargs: { mask?: unknown; training?: boolean }) {
    return tf.tidy(() => {
      this.invokeCallHook(inputs, kwargs);
      const roles = this.roles(listOfTensors(inputs));
      const x = roles.get('x')![0]!;
      const hands = this.options.usePadding !== false;
      const { block, mask } = this.parts;
      return block.apply(x, {
        mask: masksOf(this.name, {
          mask,
          keys: [...(roles.get('keys') ?? []), ...(hands ? handedMask(this, x, kwargs) : [])],
        }),
        memory: roles.get('memory')?.[0],
        memoryMask: masksOf(this.name, { mask: undefined, keys: roles.get('memoryKeys') ?? [] }),
        training: kwargs?.training ? { seed: this.step++ } : undefined,
      }).output;
    });
  }

  /** What tfjs writes into files of models, and makes the layer of again. */
  override getConfig() {
    const options = Object.entries(this.options).filter(([, value]) => value !== undefined && value !== null);
    return { ...super.getConfig(), ...Object.fromEntries(options) };
  }

  private roles<T>(inputs: readonly T[]): ReadonlyMap<string, readonly T[]> {
    const roles = byRole(this.name, inputs, {
      names: this.options.inputs ?? undefined,
      defaults: ['x', 'memory'],
    });
    if (roles.get('x')?.length === 1) return roles;
    throw new ConfigError(this.name, 'one of the inputs must be x', { inputs: this.options.inputs });
  }
}

/** The JSON of a layer whose variables have its name before theirs, as a block would name them. */
function named(name: string, layer: unknown): unknown {
  const { parts, ...others } = layer as PartJson;
  return { ...others, parts: { name, ...parts } };
}
