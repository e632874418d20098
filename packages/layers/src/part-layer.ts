// Norms, feed-forward layers and linear maps as a tf.layer: any part that maps x to y.
import { ConfigError } from '@polyhead/core';
import type { ModelPart } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import type { PartJson } from './attention-layer';
import {
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

/** A part that maps [..., E] to [..., F], such as `LayerNorm`, `RmsNorm`, `FeedForward` and `Dense`. */
export interface MappingPart extends ModelPart {
  /** [..., E] to [..., F]. */
  apply(x: tf.Tensor): tf.Tensor;
}

/** Describes a `PartLayer`, beside the options that every tf.layer has. */
export interface PartLayerOptions extends LayerOptions {
  /** A part, made; or JSON of a registered one, `{ kind: 'RmsNorm' }`, whose width comes from the input. */
  readonly part?: MappingPart | PartJson;
  /** What `getConfig` wrote, in place of `part`. */
  readonly written?: string | undefined;
}

/** The names by which parts call the width of their input. */
const widths: Readonly<Record<string, string>> = { LayerNorm: 'size', RmsNorm: 'size', Dense: 'inputDim' };

/** A norm, a feed-forward layer or a linear map: [B, S, E] to [B, S, F]. */
export class PartLayer extends WrappedLayer<{ readonly part: MappingPart }> {
  /** Its name in files. */
  static readonly className = 'PolyheadPart';

  /** @throws ConfigError without a part, and for options that are not known */
  constructor(given: PartLayerOptions) {
    const { part, written, ...options } = optionsOf('PartLayer', given, ['part', 'written']);
    super(options, { part }, written);
    if (!part && written === undefined)
      throw new ConfigError('PartLayer', 'part must be given, made or as JSON', { part });
  }

  protected override get kinds() {
    return {
      part: {
        methods: ['apply', 'getWeights'],
        such: 'a norm, a feed-forward layer or a linear map, or its JSON',
      },
    };
  }

  protected override completed(parts: Parts, [shape]: readonly Shape[]): Parts {
    const { kind = '' } = (parts.part ?? {}) as Partial<PartJson>;
    return {
      ...parts,
      part: withConfig(parts.part, { [widths[kind] ?? 'embedDim']: widthOf(this.name, shape!) }),
    };
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] {
    const shape = listOfShapes(inputShape)[0]!;
    const { outputDim = shape.at(-1)! } =
      (this.parts.part as { config?: { outputDim?: number } }).config ?? {};
    return [...shape.slice(0, -1), outputDim];
  }

  override call(inputs: tf.Tensor | tf.Tensor[], kwargs: object): tf.Tensor {
    this.invokeCallHook(inputs, kwargs);
    return tf.tidy(() => this.parts.part.apply(listOfTensors(inputs)[0]!));
  }
}
