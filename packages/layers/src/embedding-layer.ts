// Vectors of tokens as a tf.layer.
import { ConfigError } from '@polyhead/core';
import { checkFlag } from '@polyhead/core/layer';
import type { AbsolutePosition, Embedding } from '@polyhead/transformer';
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
  withConfig,
} from './wrapped-layer';

/** Describes an `EmbeddingLayer`, beside the options that every tf.layer has. */
export interface EmbeddingLayerOptions extends LayerOptions {
  /** An `Embedding`, made; or its JSON, `{ kind: 'Embedding', config: { vocabularySize, embedDim } }`. */
  readonly embedding?: Embedding | PartJson;
  /** What is added by where tokens stand, such as `sinusoidal`: made, or as JSON. Default: nothing. */
  readonly positions?: AbsolutePosition | PartJson | undefined;
  /** Whether token 0 is padding, which later layers hide. Default: false. */
  readonly maskZero?: boolean | undefined;
  /** What `getConfig` wrote, in place of `embedding` and `positions`. */
  readonly written?: string | undefined;
}

interface Made extends Parts {
  readonly embedding: Embedding;
  readonly positions?: AbsolutePosition;
}

/** A row of a table for each token: [B, S] to [B, S, E]. It trains on wasm too, where `tf.layers.embedding` fails. */
export class EmbeddingLayer extends WrappedLayer<Made> {
  /** Its name in files. */
  static readonly className = 'PolyheadEmbedding';
  private readonly maskZero: boolean;

  /** @throws ConfigError without an embedding, and for options that cannot be */
  constructor(given: EmbeddingLayerOptions) {
    const own = ['embedding', 'positions', 'maskZero', 'written'] as const;
    const all = optionsOf('EmbeddingLayer', given, own);
    const { embedding, positions, maskZero = false, written, ...options } = all;
    super(options, { embedding, positions }, written);
    checkFlag('EmbeddingLayer', 'maskZero', maskZero);
    this.maskZero = maskZero;
    this.supportsMasking = maskZero;
    if (!embedding && written === undefined)
      throw new ConfigError('EmbeddingLayer', 'embedding must be given, made or as JSON', { embedding });
  }

  protected override get kinds() {
    return {
      embedding: { methods: ['apply', 'logits'], such: 'an Embedding, or its JSON' },
      positions: { methods: ['addTo'], such: 'positions that are added, such as sinusoidal, or their JSON' },
    };
  }

  protected override completed({ embedding, positions, ...others }: Parts): Parts {
    const { config } = (embedding ?? {}) as { readonly config?: { readonly embedDim?: number } };
    const width = { embedDim: config?.embedDim };
    return {
      ...others,
      ...(embedding !== undefined && { embedding }),
      ...(positions !== undefined && { positions: withConfig(positions, width) }),
    };
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] {
    return [...listOfShapes(inputShape)[0]!, this.parts.embedding.config.embedDim];
  }

  override call(inputs: tf.Tensor | tf.Tensor[], kwargs: object): tf.Tensor {
    return tf.tidy(() => {
      this.invokeCallHook(inputs, kwargs);
      const { embedding, positions } = this.parts;
      const vectors = embedding.apply(tf.cast(listOfTensors(inputs)[0]!, 'int32'));
      return positions ? positions.addTo(vectors) : vectors;
    });
  }

  override computeMask(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const ids = listOfTensors(inputs)[0]!;
    if (!this.maskZero) return null as unknown as tf.Tensor;
    return tf.tidy(() => tf.notEqual(ids, tf.scalar(0, ids.dtype)));
  }

  /** What tfjs writes into files of models, and makes the layer of again. */
  override getConfig() {
    return { ...super.getConfig(), maskZero: this.maskZero };
  }
}
