// A decoder: each token sees those before it, and scores the next one.
import {
  allOf,
  type CacheShape,
  ConfigError,
  causal,
  type KeyValueCache,
  leftPadding,
  type Mask,
  ShapeError,
  slidingWindow,
  UnsupportedError,
  validLengths,
} from '@polyhead/core';
import {
  addBroadcast,
  checkOneOf,
  checkTensor,
  cleanTidy,
  normalizeOptions,
  project,
} from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { rowsOf } from '../layers/embedding';
import { BlockStack, type StackAttention, type StackParts, stackOptions } from './block-stack';
import type { CausalCall, CausalModel, CausalResult, LayerCacheShapes, LayerCaches } from './causal-model';
import { checkDecoder, type DecoderConfig, decoderOptions } from './decoder-config';
import { checkSum, LastTokenParts, type LogitParts } from './logit-parts';
import { restorer } from './take-back';

/** Objects that a decoder is made of. */
export interface DecoderParts extends StackParts {
  /** Attention to an encoder's output. Default: none. */
  readonly crossAttention?: StackAttention | undefined;
}

const kind = 'Decoder';
const callOptions = [
  'cache',
  'leftPadding',
  'lengths',
  'mask',
  'memory',
  'memoryLengths',
  'logits',
  'kernel',
  'training',
] as const;

/**
 * Tokens in, scores of the next token out.
 *
 * @example
 * const decoder = new Decoder(config, {
 *   attention: (parts) => new GroupedQueryAttention({ embedDim: 64, numHeads: 4, numKeyValueHeads: 2 }, { ...parts, position }),
 * });
 * const { logits } = decoder.apply(ids);
 */
export class Decoder extends BlockStack<DecoderConfig> implements CausalModel {
  /** Its name in JSON. */
  static readonly kind = kind;
  /** The mask of each window, kept so that its plans are. */
  private readonly masks = new Map<number, Mask>();

  /** @throws ConfigError for options that cannot be */
  constructor(config: DecoderConfig, parts: DecoderParts) {
    const known = normalizeOptions(kind, 'config', config, [
      ...stackOptions,
      ...decoderOptions,
    ]) as DecoderConfig;
    checkDecoder(known);
    const { vocabularySize: V, embedDim: E, head = 'own', headBias } = known;
    super(kind, known, parts, {
      ...(head === 'own' && { 'head/kernel': [E, V] }),
      ...(headBias && { 'head/bias': [V] }),
    });
  }

  get vocabularySize(): number {
    return this.config.vocabularySize;
  }

  get maxLength(): number | undefined {
    return this.config.maxLength;
  }

  /** @throws ConfigError unless `batch` is a whole number above 0 */
  cacheShapes(batch: number): LayerCacheShapes {
    const cross: CacheShape[] = [];
    const self = this.blocks.map(({ attention, crossAttention }) => {
      if (crossAttention) cross.push(crossAttention.cacheShape(batch));
      return attention.cacheShape(batch);
    });
    return { self, cross };
  }

  /**
   * Scores of the token that follows each. Allocates exactly its result.
   *
   * @param ids [B, S], int32
   * @returns logits [B, S, V], or [B, 1, V] of the last token
   * @throws ShapeError for tokens outside the vocabulary, or more of them than the model has positions
   * @throws ShapeError, ConfigError, UnsupportedError as its layers do; then all caches are as they were
   */
  apply(ids: tf.Tensor, call: CausalCall = {}): CausalResult {
    const options = normalizeOptions<CausalCall>(kind, 'call', call, callOptions);
    checkTensor(kind, 'ids', ids, ['[B, S]', {}, 'int32']);
    checkOneOf(kind, 'logits', options.logits, ['all', 'last']);
    this.checkCaches(options.cache);
    const starts = this.startsOf(ids, options);
    const restore = restorer(options.cache?.self ?? [], options.cache?.cross ?? []);
    try {
      return this.run(ids, options, starts);
    } catch (error) {
      restore();
      throw error;
    }
  }

  private run(ids: tf.Tensor, options: CausalCall, starts: readonly number[]): CausalResult {
    const kernels: string[] = [];
    const logits = cleanTidy(() => {
      const through = this.hidden(ids, options, { starts });
      kernels.push(...through.kernels);
      return this.scores(this.finished(lastRows(through.hidden, options)));
    });
    return { logits, kernels };
  }

  /**
   * The logits of the next token as a sum of what the embedding, each head and each feed-forward layer add (direct logit
   * attribution: nostalgebraist 2020, _interpreting GPT: the logit lens_; Elhage et al. 2021, _A Mathematical Framework for
   * Transformer Circuits_). The last norm divides each part by the size of the whole. A part that works through a later layer
   * counts as that layer's. Allocates exactly its result.
   *
   * @param ids [B, S], int32
   * @throws UnsupportedError where tokens are no such sum: norms `post` and `sandwich`, cross-attention, and attention whose
   *   output is no projection of its heads
   * @throws ShapeError, ConfigError as `apply` does
   * @example
   * const { parts, logits } = model.logitParts(ids); // logits [P, 1, V]: what parts[p] adds to each token of the vocabulary
   */
  logitParts(ids: tf.Tensor, call: Pick<CausalCall, 'kernel'> = {}): LogitParts {
    const where = `${kind}.logitParts`;
    const options = normalizeOptions<CausalCall>(where, 'call', call, ['kernel']);
    checkTensor(where, 'ids', ids, ['[B, S]', {}, 'int32']);
    checkSum(where, this);
    const starts = this.startsOf(ids, options);
    const found = new LastTokenParts(where);
    try {
      const logits = cleanTidy(() => {
        const { hidden } = this.hidden(ids, options, { starts, found });
        return found.logits(lastRows(hidden, { logits: 'last' }), {
          norm: this.finalNorm,
          products: (x) => this.products(x),
          bias: this.weights.find('head/bias'),
        });
      });
      return { parts: found.parts, logits };
    } finally {
      found.dispose();
    }
  }

  /** What comes out of the last block, [B, S, E], and which kernels ran. */
  private hidden(
    ids: tf.Tensor,
    options: CausalCall,
    { starts, found }: { readonly starts: readonly number[]; readonly found?: LastTokenParts },
  ) {
    const { cache, lengths, memory, memoryLengths, kernel, training } = options;
    const start = starts.every((first) => first === starts[0]) ? starts.slice(0, 1) : starts;
    const isPadded = options.leftPadding?.some((count) => count > 0) ?? false;
    const positions = isPadded ? [{ start }] : undefined;
    const maskOf = this.masksOf(options);
    const memoryMask = memoryLengths && validLengths(memoryLengths);
    const embedded = this.embedded(ids, { positions: { start }, training });
    found?.addEmbedding(embedded);
    return this.throughBlocks(embedded, (index) => ({
      mask: maskOf(index),
      positions,
      cache: cache?.self[index],
      lengths,
      memory,
      memoryLengths,
      memoryMask,
      crossCache: cache?.cross?.[index],
      kernel,
      training,
      onOutput: found && ((given) => found.addOutput(index, given)),
    }));
  }

  /** [B, S, E] to [B, S, V]. */
  private scores(hidden: tf.Tensor3D): tf.Tensor3D {
    const { logitSoftcap = 0 } = this.config;
    const bias = this.weights.find('head/bias');
    const products = this.products(hidden);
    const biased = bias ? addBroadcast(products, bias) : products;
    return logitSoftcap === 0 ? biased : tf.mul(tf.tanh(tf.div(biased, logitSoftcap)), logitSoftcap);
  }

  /** The products with the head, scaled: [B, S, E] to [B, S, V]. */
  private products(hidden: tf.Tensor3D): tf.Tensor3D {
    const { head = 'own', logitScale = 1 } = this.config;
    const products =
      head === 'own' ? project(hidden, this.weights.matrix('head/kernel')) : this.embedding.logits(hidden);
    return logitScale === 1 ? products : tf.mul(products, logitScale);
  }

  /** The mask of each block; blocks of one window share one, so that it is compiled once. */
  private masksOf({ leftPadding: counts, mask }: CausalCall): (index: number) => Mask {
    const { windows = 0 } = this.config;
    const others = [
      ...(counts?.some((count) => count > 0) ? [leftPadding(counts)] : []),
      ...(mask ? [mask] : []),
    ];
    const joined = new Map<number, Mask>();
    return (index) => {
      const window = (typeof windows === 'number' ? windows : windows[index]) ?? 0;
      const own =
        this.masks.get(window) ?? (window > 0 ? slidingWindow({ left: window - 1, right: 0 }) : causal());
      this.masks.set(window, own);
      if (others.length === 0) return own;
      const all = joined.get(window) ?? allOf(own, ...others);
      joined.set(window, all);
      return all;
    };
  }

  /** The position of the first token of each entry; below 0 where it is padding. */
  private startsOf(ids: tf.Tensor, { cache, leftPadding: counts, lengths }: CausalCall): readonly number[] {
    const [B, S] = ids.shape as [number, number];
    for (const [name, list] of Object.entries({ leftPadding: counts, lengths })) {
      if (list !== undefined && (!Array.isArray(list) || list.length !== B))
        throw new ShapeError(kind, `${name} must have one count for each batch entry`, { [name]: list, ids });
    }
    const next = cache?.self[0]?.nextOrder;
    const starts = Array.from({ length: B }, (_, b) => (next?.[b] ?? 0) - (counts?.[b] ?? 0));
    const { maxLength = Number.POSITIVE_INFINITY } = this.config;
    const longest = starts.reduce((most, start, b) => Math.max(most, start + (lengths?.[b] ?? S)), 0);
    if (longest <= maxLength) return starts;
    throw new ShapeError(kind, 'all tokens, with those of the cache, must not be longer than the model', {
      tokens: longest,
      maxLength,
    });
  }

  private checkCaches(cache: LayerCaches | undefined): void {
    const { sharedKeyValues = [] } = this.config;
    if (!cache) {
      if (sharedKeyValues.every((source) => source === null)) return;
      const reasons = ['a block attends with the keys and values of another: see `cachePlan`'];
      throw new UnsupportedError(kind, 'a cache must hand keys and values on', reasons, { sharedKeyValues });
    }
    const needed = { self: this.blocks, cross: this.blocks.filter((block) => block.crossAttention) };
    for (const name of ['self', 'cross'] as const) {
      const caches: readonly KeyValueCache[] = cache[name] ?? [];
      if (caches.length === needed[name].length) continue;
      throw new ConfigError(kind, `cache.${name} must have a cache for each block`, {
        [name]: caches.length,
        'blocks that need one': needed[name].length,
      });
    }
    for (const [index, { source }] of cache.self.entries()) {
      const shared = sharedKeyValues[index] ?? undefined;
      if (source === (shared === undefined ? undefined : cache.self[shared])) continue;
      throw new ConfigError(
        kind,
        'a cache must be a view of another block’s where the block shares those keys',
        {
          block: index,
          sharedKeyValues,
        },
      );
    }
  }
}

/** [B, S, E], or the last row that counts of each entry: [B, 1, E]. */
function lastRows(hidden: tf.Tensor3D, { logits, lengths }: CausalCall): tf.Tensor3D {
  const [B, S, E] = hidden.shape;
  if (logits !== 'last' || S <= 1) return hidden;
  const rows = Int32Array.from({ length: B }, (_, b) => b * S + Math.max((lengths?.[b] ?? S) - 1, 0));
  return tf.reshape(rowsOf(tf.reshape(hidden, [B * S, E]), tf.tensor1d(rows, 'int32')), [B, 1, E]);
}
