// What encoders and decoders have in common: embeddings of tokens, and blocks one behind the other.
import {
  type Attention,
  ConfigError,
  type NamedVariable,
  ShapeError,
  type TokenPositions,
} from '@polyhead/core';
import { addBroadcast, checkFlag, checkNumber, checkSizes } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import {
  type AttentionFactoryParts,
  type BlockCall,
  type BlockOptions,
  TransformerBlock,
} from '../blocks/transformer-block';
import { dropout, type Training, trainingOf } from '../layers/dropout';
import { Embedding, rowsOf } from '../layers/embedding';
import { Layer, type LayerParts, type ModelPart, variablesOf } from '../layers/layer';
import { type LayerNorm, makeNorm, type RmsNorm } from '../layers/norm';

/** What encoders and decoders are described by. Plain JSON. */
export interface StackConfig extends BlockOptions {
  /** V, how many tokens there are. */
  readonly vocabularySize: number;
  /** How many blocks. */
  readonly numLayers: number;
  /** The most tokens that its positions reach. Default: no bound. */
  readonly maxLength?: number | undefined;
  /** What the vectors of tokens are multiplied by: sqrt(E) in Gemma and Marian. Default: 1. */
  readonly embeddingScale?: number | undefined;
  /** A norm of embeddings, before the first block: BERT. Default: false. */
  readonly embeddingNorm?: boolean | undefined;
  /** Vectors of segments that are added to embeddings: 2 in BERT. Default: 0, none. */
  readonly numSegments?: number | undefined;
  /** A norm behind the last block. Default: true, but with `post`. */
  readonly finalNorm?: boolean | undefined;
}

/** Vectors of positions that are added to embeddings, as `learned` and `sinusoidal` of @polyhead/relative-position. */
export interface AbsolutePosition extends ModelPart {
  /**
   * @param embeddings [B, S, E]
   * @param at where the tokens are. Default: from 0 on
   * @returns [B, S, E]
   */
  addTo(embeddings: tf.Tensor3D, at?: TokenPositions | undefined): tf.Tensor3D;
}

/** Makes the attention of the block of an index. */
export type StackAttention =
  | ((parts: AttentionFactoryParts, index: number) => Attention)
  | readonly Attention[];

/** Objects that encoders and decoders are made of. */
export interface StackParts extends LayerParts {
  /** Attention of the blocks: a factory, or one layer for each. */
  readonly attention: StackAttention;
  /** Vectors of positions. Default: none are added. */
  readonly positions?: AbsolutePosition | undefined;
  /** The table of tokens, where several models share one. Default: one of its own. */
  readonly embedding?: Embedding | undefined;
}

/** The options of a `StackConfig`. */
export const stackOptions = [
  'embedDim',
  'norm',
  'normPlacement',
  'parallel',
  'feedForward',
  'dropout',
  'seed',
  'vocabularySize',
  'numLayers',
  'maxLength',
  'embeddingScale',
  'embeddingNorm',
  'numSegments',
  'finalNorm',
] as const;

/** How tokens become the input of the first block. */
export interface TokenCall {
  /** Where they stand. Default: from 0 on. */
  readonly positions?: TokenPositions | undefined;
  /** [B, S], int32. Default: 0. */
  readonly segments?: tf.Tensor | undefined;
  /** Switches dropout on. Default: off. */
  readonly training?: Training | undefined;
}

/** The base of `Encoder` and `Decoder`. */
export abstract class BlockStack<Config extends StackConfig> extends Layer<Config> {
  /** The blocks, in order. */
  readonly blocks: readonly TransformerBlock[];
  /** The table of tokens. */
  readonly embedding: Embedding;
  private readonly positions: AbsolutePosition | undefined;
  private readonly norms: { readonly embedding?: LayerNorm | RmsNorm; readonly final?: LayerNorm | RmsNorm };
  private readonly ownsEmbedding: boolean;

  protected constructor(
    kind: string,
    config: Config,
    {
      attention,
      crossAttention,
      positions,
      embedding,
      ...parts
    }: StackParts & { readonly crossAttention?: StackAttention | undefined },
    shapes: { readonly [name: string]: readonly number[] } = {},
  ) {
    checkStack(kind, config);
    const { numSegments = 0, embedDim, normPlacement, vocabularySize } = config;
    const ofSegments = numSegments > 0 ? { 'segments/table': [numSegments, embedDim] } : {};
    super({ kind, config, parts, shapes: { ...ofSegments, ...shapes } });
    const partsOf = (name: string) => ({ name: this.nameOf(name), initializer: parts.initializer });
    this.positions = positions ?? undefined;
    this.ownsEmbedding = !embedding;
    const made = this.makeParts((keep) => {
      checkLayers(kind, config, { attention, crossAttention });
      const { finalNorm = normPlacement !== 'post', embeddingNorm, seed = this.seed } = config;
      const table =
        embedding ?? keep(new Embedding({ vocabularySize, embedDim, seed }, partsOf('embedding')));
      checkEmbedding(kind, table, config);
      const norm = (name: string) => keep(makeNorm(kind, embedDim, config.norm, partsOf(name)));
      const norms = {
        ...(embeddingNorm && { embedding: norm('embeddingNorm') }),
        ...(finalNorm && { final: norm('finalNorm') }),
      };
      const blocks = Array.from({ length: config.numLayers }, (_, index) => {
        const at = (source: StackAttention) =>
          typeof source === 'function'
            ? (parts: AttentionFactoryParts) => source(parts, index)
            : source[index]!;
        const own = { attention: at(attention), crossAttention: crossAttention && at(crossAttention) };
        return keep(
          new TransformerBlock(blockOptions({ ...config, seed }), { ...partsOf(`block${index}`), ...own }),
        );
      });
      const added = positions ? [positions] : [];
      checkNames(kind, variablesOf([this.weights, table, ...added, ...Object.values(norms), ...blocks]));
      return { table, norms, blocks };
    });
    this.embedding = made.table;
    this.norms = made.norms;
    this.blocks = made.blocks;
  }

  protected override get children(): readonly ModelPart[] {
    const { embedding, final } = this.norms;
    return [
      this.embedding,
      ...(this.positions ? [this.positions] : []),
      ...(embedding ? [embedding] : []),
      ...this.blocks,
      ...(final ? [final] : []),
    ];
  }

  protected override partsOfJSON(): object {
    const cross = this.blocks.map((block) => block.crossAttention).filter((layer) => layer !== undefined);
    return {
      attention: this.blocks.map((block) => block.attention),
      ...(cross.length > 0 && { crossAttention: cross }),
      ...(this.positions && { positions: this.positions }),
      ...(!this.ownsEmbedding && { embedding: this.embedding }),
    };
  }

  /** Tokens [B, S] as the input of the first block, [B, S, E]. */
  protected embedded(ids: tf.Tensor, { positions, segments, training }: TokenCall): tf.Tensor3D {
    const { embeddingScale = 1, dropout: rate = 0 } = this.config;
    const rows = this.embedding.apply(ids);
    const scaled: tf.Tensor3D = embeddingScale === 1 ? rows : tf.mul(rows, embeddingScale);
    const inSegments = this.withSegments(scaled, segments);
    const placed = this.positions?.addTo(inSegments, positions) ?? inSegments;
    const normalized = this.norms.embedding?.apply(placed) ?? placed;
    return dropout(normalized, rate, trainingOf(training, this.nameOf('embedding/dropout')));
  }

  /** All blocks, one behind the other: [B, S, E]. */
  protected throughBlocks(
    x: tf.Tensor3D,
    callOf: (index: number) => BlockCall,
  ): { readonly hidden: tf.Tensor3D; readonly kernels: readonly string[] } {
    const kernels = new Set<string>();
    let hidden = x;
    for (const [index, block] of this.blocks.entries()) {
      const result = block.apply(hidden, callOf(index));
      if (hidden !== x) hidden.dispose(); // what a deep model holds at a time stays small
      hidden = result.output;
      for (const kernel of result.kernels) kernels.add(kernel);
    }
    return { hidden, kernels: [...kernels] };
  }

  /** The norm behind the last block, where there is one. */
  protected get finalNorm(): LayerNorm | RmsNorm | undefined {
    return this.norms.final;
  }

  /** What comes out of the last block, normalized where there is such a norm. */
  protected finished(hidden: tf.Tensor3D): tf.Tensor3D {
    return this.finalNorm?.apply(hidden) ?? hidden;
  }

  private withSegments(x: tf.Tensor3D, segments: tf.Tensor | undefined): tf.Tensor3D {
    const table = this.weights.find('segments/table');
    if (!table) {
      if (segments) throw new ConfigError(this.kind, 'segments need a model with numSegments', { segments });
      return x;
    }
    if (!segments) return addBroadcast(x, rowsOf(table, tf.tensor1d([0], 'int32')));
    if (`${segments.shape}` !== `${x.shape.slice(0, 2)}` || segments.dtype !== 'int32')
      throw new ShapeError(this.kind, 'segments must be int32 [B, S], as the tokens', { segments, x });
    return tf.add(x, tf.reshape(rowsOf(table, tf.reshape(segments, [-1])), x.shape));
  }

  private nameOf(name: string): string {
    return this.name ? `${this.name}/${name}` : name;
  }
}

function blockOptions(config: BlockOptions): BlockOptions {
  const { embedDim, norm, normPlacement, parallel, feedForward, dropout: rate, seed } = config;
  return { embedDim, norm, normPlacement, parallel, feedForward, dropout: rate, seed };
}

function checkStack(kind: string, config: StackConfig): void {
  const { vocabularySize, embedDim, numLayers, maxLength, numSegments = 0, embeddingScale = 1 } = config;
  checkSizes(kind, { vocabularySize, embedDim, numLayers, ...(maxLength !== undefined && { maxLength }) });
  checkNumber(kind, 'numSegments', numSegments, [
    (n) => Number.isInteger(n) && n >= 0,
    'a whole number of at least 0',
  ]);
  checkNumber(kind, 'embeddingScale', embeddingScale, [(x) => x !== 0, 'a number other than 0']);
  checkFlag(kind, 'embeddingNorm', config.embeddingNorm);
  checkFlag(kind, 'finalNorm', config.finalNorm);
}

function checkEmbedding(kind: string, embedding: Embedding, { vocabularySize, embedDim }: StackConfig): void {
  const { config } = embedding;
  if (config?.vocabularySize === vocabularySize && config.embedDim === embedDim) return;
  throw new ConfigError(kind, 'parts.embedding must have the sizes of the model', {
    'of the embedding': [config?.vocabularySize, config?.embedDim],
    'of the model': [vocabularySize, embedDim],
  });
}

function checkLayers(
  kind: string,
  { numLayers }: StackConfig,
  sources: { readonly [name: string]: StackAttention | undefined },
): void {
  for (const [name, source] of Object.entries(sources)) {
    if (source === undefined || source === null || typeof source === 'function') continue;
    if (Array.isArray(source) && source.length === numLayers) continue;
    const rule = `parts.${name} must be a function, or have a layer for each block`;
    throw new ConfigError(kind, rule, { [name]: source, numLayers });
  }
}

/** @throws ConfigError where two variables have one name: attention that was not given the name of its block */
function checkNames(kind: string, variables: readonly NamedVariable[]): void {
  const names = new Set<string>();
  for (const { name } of variables) {
    if (names.has(name))
      throw new ConfigError(kind, 'each variable must have a name of its own: pass `parts` on to attention', {
        name,
      });
    names.add(name);
  }
}
