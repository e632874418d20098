// An encoder that reads a source, and a decoder that attends to what it gives.
import { ConfigError } from '@polyhead/core';
import { checkNumber, cleanTidy, normalizeOptions } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { Layer, type LayerParts, type ModelPart } from '../layers/layer';
import type {
  CausalCall,
  CausalResult,
  EncoderCall,
  EncoderResult,
  SequenceToSequenceModel,
} from './causal-model';
import { Decoder } from './decoder';
import { Encoder } from './encoder';

/** Describes an `EncoderDecoder`. Plain JSON. */
export interface EncoderDecoderConfig {
  /** The token that a target begins with. Default: none is named. */
  readonly startToken?: number | undefined;
}

/** Objects that an `EncoderDecoder` is made of. */
export interface EncoderDecoderParts extends Pick<LayerParts, 'name'> {
  /** Reads the source. */
  readonly encoder: Encoder;
  /** Has cross-attention; may share the encoder's table of tokens. */
  readonly decoder: Decoder;
}

const kind = 'EncoderDecoder';

/**
 * A model from a source to a target.
 *
 * @example
 * const embedding = new Embedding({ vocabularySize: 100, embedDim: 64 }, { name: 'embedding' });
 * const encoder = new Encoder(config, { name: 'encoder', embedding, attention });
 * const decoder = new Decoder(config, { name: 'decoder', embedding, attention, crossAttention: attention });
 * const model = new EncoderDecoder({ startToken: 0 }, { encoder, decoder });
 */
export class EncoderDecoder extends Layer<EncoderDecoderConfig> implements SequenceToSequenceModel {
  /** Its name in JSON. */
  static readonly kind = kind;
  /** Reads the source. */
  readonly encoder: Encoder;
  /** Its `apply` takes what `encode` gives as `memory`. */
  readonly decoder: Decoder;

  /** @throws ConfigError for options that cannot be, and a decoder without cross-attention */
  constructor(config: EncoderDecoderConfig, { encoder, decoder, ...parts }: EncoderDecoderParts) {
    const known = normalizeOptions(kind, 'config', config, ['startToken']) as EncoderDecoderConfig;
    const { startToken = 0 } = known;
    checkNumber(kind, 'startToken', startToken, [(n) => Number.isInteger(n) && n >= 0, 'a token']);
    if (!(encoder instanceof Encoder) || !(decoder instanceof Decoder))
      throw new ConfigError(kind, 'parts must have an encoder and a decoder', { encoder, decoder });
    if (decoder.cacheShapes(1).cross.length === 0)
      throw new ConfigError(kind, 'the decoder must have cross-attention: parts.crossAttention');
    super({ kind, config: known, parts, hasSeed: false });
    this.encoder = encoder;
    this.decoder = decoder;
  }

  get startToken(): number | undefined {
    return this.config.startToken;
  }

  /**
   * @param ids [B, S], int32
   * @returns output [B, S, E], the decoder's memory
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  encode(ids: tf.Tensor, call: EncoderCall = {}): EncoderResult {
    return this.encoder.apply(ids, call);
  }

  /**
   * Scores of the token that follows each of the target, as in training: source and target in one call.
   *
   * @param source [B, Sm], int32
   * @param target [B, S], int32
   * @param call `memoryLengths` are the lengths of the source
   * @returns logits [B, S, V]
   * @throws ShapeError, ConfigError, UnsupportedError
   */
  apply(source: tf.Tensor, target: tf.Tensor, call: Omit<CausalCall, 'memory'> = {}): CausalResult {
    const { kernel, training, memoryLengths: lengths } = call;
    const kernels = new Set<string>();
    const logits = cleanTidy(() => {
      const { output: memory, ...encoded } = this.encode(source, { lengths, kernel, training });
      const decoded = this.decoder.apply(target, { ...call, memory });
      for (const name of [...encoded.kernels, ...decoded.kernels]) kernels.add(name);
      return decoded.logits;
    });
    return { logits, kernels: [...kernels] };
  }

  protected override get children(): readonly ModelPart[] {
    return [this.encoder, this.decoder];
  }

  protected override partsOfJSON(): object {
    return { encoder: this.encoder, decoder: this.decoder };
  }
}
