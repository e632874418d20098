// Keys and values at rest: how a kernel reads storage as it lies, and how a layer fills it.
import type * as tf from '@tensorflow/tfjs-core';
import type { NamedTensors } from './kernel';
import type { Mask } from './mask';
import type { TokenPositions } from './position';

/** Rows of numbers in one tensor; a row is one token of one head. */
export interface RowMatrix {
  /** [rows, columns]: float32, or int32 words that hold 8- or 4-bit numbers. */
  readonly data: tf.Tensor2D;
  /** The column where a row's numbers start. */
  readonly first: number;
  /** Numbers of a row. */
  readonly size: number;
  /**
   * Each word holds 32 / bits numbers n, from the low bits on; `first` counts words. A number is scale n, of signed n, or
   * with `zero` it is zero + scale n, of unsigned n. `scale` and `zero` are [rows / rowsPerScale, parts of a row].
   */
  readonly quantized?: {
    readonly bits: 4 | 8;
    readonly scale: tf.Tensor2D;
    readonly zero?: tf.Tensor2D;
    readonly rowsPerScale: number;
  };
}

/** One physical piece of a cache: contiguous, ring, paged and quantized storage all look like this to a kernel. */
export interface KeyValuePart {
  /** Rows of D numbers. */
  readonly key: RowMatrix;
  /** Rows of Dv numbers; they may be a view of the keys' rows. */
  readonly value: RowMatrix;
  /** Rows from one head to the next. */
  readonly headStride: number;
  /** Runs of rows of head 0 of a batch entry, in token order: [n, 2] first row, count. */
  runs(b: number): Int32Array;
}

/** Keys and values as a cache keeps them, for kernels. */
export interface StoredKeyValue {
  /** Hkv */
  readonly heads: number;
  /** D */
  readonly keySize: number;
  /** Dv */
  readonly valueSize: number;
  /** [B]: tokens of each batch entry. */
  readonly lengths: readonly number[];
  /** What masks see: rising from row to row of a batch entry, gaps allowed. */
  readonly order: TokenPositions;
  /** What distances see. */
  readonly positions: TokenPositions;
  /**
   * What the storage itself hides, as a ring does: `attend` adds it to the mask of the call, and layers refuse it in
   * cross-attention. Default: nothing.
   */
  readonly mask?: Mask | undefined;
  /** All rows as they lie; empty where there are none, or where `materialize` alone gives them. */
  readonly parts: readonly KeyValuePart[];
  /** Float32 in token order, [B, Hkv, S, D] and [B, Hkv, S, Dv]; the caller disposes. Any kernel can run on this. */
  materialize(): { readonly key: tf.Tensor4D; readonly value: tf.Tensor4D };
}

/** The sizes of a cache. */
export interface CacheShape {
  /** B */
  readonly batch: number;
  /** Hkv */
  readonly heads: number;
  /** D, numbers that are kept of a key. */
  readonly keySize: number;
  /** Dv, numbers that are kept of a value; 0 where values are a view of keys. */
  readonly valueSize: number;
}

/** New rows beside the old: what a kernel reads, and what makes them part of the cache. */
export interface StagedRows {
  /** Old and new rows; absent where there is a state instead. */
  readonly stored?: StoredKeyValue | undefined;
  /** All earlier tokens in a fixed number of tensors, for kernels that say `takesState`. */
  readonly state?: NamedTensors | undefined;
  /** Makes the new rows part of the cache. @param state what the kernel returned, where a state was staged */
  commit(state?: NamedTensors): void;
}

/** What a layer hands to a cache. */
export interface NewRows {
  /** [B, Hkv, S, D] */
  readonly key: tf.Tensor4D;
  /** [B, Hkv, S, Dv]. Where the cache keeps none, as its `valueSize` is 0, they must be columns of the keys: only Dv is read. */
  readonly value: tf.Tensor4D;
  /** The tokens that count, the first ones, of each batch entry: [B]. Default: all S. */
  readonly lengths?: readonly number[] | undefined;
  /** Positions of the S tokens. Default: counted on from the cache's last. */
  readonly positions?: TokenPositions | undefined;
  /** The layer whose rows they are: a cache serves one. */
  readonly layer?: { readonly name: string } | undefined;
}

/** As `NewRows`, whose numbers are still to come. */
export interface ComingRows extends Omit<NewRows, 'key' | 'value'> {
  /** [B, Hkv, S, D] */
  readonly key: Pick<tf.Tensor4D, 'shape'>;
  /** [B, Hkv, S, Dv] */
  readonly value: Pick<tf.Tensor4D, 'shape'>;
}

/** Rows of a cache that are still to be written, and show only after `commit`. */
export interface ReservedRows extends StagedRows {
  /** Old and new rows. */
  readonly stored: StoredKeyValue;
  /** The new ones: float32, as many as count, in tensors whose numbers may be written where they lie. */
  readonly rows: KeyValuePart;
}

/** Keys and values of earlier tokens, which a layer adds to at each call. */
export interface KeyValueCache {
  /** Its sizes; `cacheShape` of a layer gives them. */
  readonly shape: CacheShape;
  /** [B]: tokens that can be seen. */
  readonly lengths: readonly number[];
  /** [B]: token order of the next row. It goes on growing where a cache forgets. */
  readonly nextOrder: readonly number[];
  /** [B]: position of the next row; less than its order after left padding. */
  readonly nextPosition: readonly number[];
  /** Bytes of all rows that it holds. */
  readonly byteSize: number;
  /** Filled once: a cache for cross-attention, with which a layer needs no key. Also a view, which no layer fills. */
  readonly sealed: boolean;
  /**
   * Of a view: the cache whose rows it shows, which another layer writes before, of the same tokens. A layer that is given a
   * view needs no key, and that is no cross-attention. Who changes the source has changed the view.
   */
  readonly source?: KeyValueCache | undefined;
  /** [B]: how many of the last tokens `crop` can take back. Default: all, until the first is forgotten; then none. */
  readonly removable?: readonly number[] | undefined;
  /** No more rows from now on. */
  seal(): void;
  /**
   * New rows beside the old, nothing changed yet. `commit` makes them part of the cache; without it nothing happened.
   * Call inside a tidy. A later stage, crop or reset makes earlier ones throw.
   *
   * @param rows key [B, Hkv, S, D], value [B, Hkv, S, Dv]; `lengths` [B] of them count, default all; `layer` is the one that
   *   writes, and the only one that may until `reset`
   * @throws ConfigError for another layer than the one before
   */
  stage(rows: NewRows): StagedRows;
  /**
   * As `stage`, but the caller writes the numbers, before the kernel runs. Saves a copy, and a tensor of turned keys.
   *
   * @returns undefined where such rows cannot be written in place: `stage` them. Absent: never
   * @throws as `stage` does
   */
  reserve?(rows: ComingRows): ReservedRows | undefined;
  /** All rows. */
  read(): StoredKeyValue;
  /** Forgets the tokens from `lengths[b]` on. */
  crop(lengths: readonly number[]): void;
  /** Each batch entry goes on with the tokens of another: entry b with those of `entries[b]`. Beam search needs it. */
  select?(entries: readonly number[]): void;
  /**
   * Another cache with the same tokens, which shares nothing that either writes.
   *
   * @param source of a view: the fork of its source, which the new one shows
   */
  fork?(source?: KeyValueCache): KeyValueCache;
  /** Forgets all tokens, and the layer that wrote them. */
  reset(): void;
  /** Gives its memory back; twice is once. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads: the cache, empty. */
  toJSON?(): object;
}
