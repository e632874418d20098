// Keys and values at rest: how a kernel reads storage as it lies, and how a layer fills it.
import type * as tf from '@tensorflow/tfjs-core';
import type { NamedTensors } from './kernel';
import type { Mask } from './mask';
import type { TokenPositions } from './position';

/** Rows of numbers in one tensor; a row is one token of one head. */
export interface RowMatrix {
  readonly data: tf.Tensor2D; // float32, or int32 words holding 8- or 4-bit numbers
  readonly first: number; // column where the row's numbers start
  readonly size: number; // numbers a row
  /**
   * Each word holds 32 / bits numbers n, from the low bits on; `first` counts words. A number is scale n, of signed n, or
   * with `zero` it is zero + scale n, of unsigned n.
   */
  readonly quantized?: {
    readonly bits: 4 | 8;
    readonly scale: tf.Tensor2D; // [rows / rowsPerScale, parts of a row]
    readonly zero?: tf.Tensor2D; // as scale
    readonly rowsPerScale: number;
  };
}

/** One physical piece of a cache: contiguous, ring, paged and quantized storage all look like this to a kernel. */
export interface KeyValuePart {
  readonly key: RowMatrix;
  readonly value: RowMatrix;
  readonly headStride: number; // rows from one head to the next
  /** Runs of rows of head 0, in token order: [n, 2] first row, count. */
  runs(b: number): Int32Array;
}

export interface StoredKeyValue {
  readonly heads: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly lengths: readonly number[]; // [B]
  readonly order: TokenPositions; // what masks see
  readonly positions: TokenPositions; // what distances see
  readonly mask?: Mask; // what the storage itself hides (a ring's window); `attend` ands it
  /** All rows as they lie; empty where there are none, or where `materialize` alone gives them. */
  readonly parts: readonly KeyValuePart[];
  /** Float32, token order, [B, Hkv, S, D]; the caller disposes. Any kernel can run on this. */
  materialize(): { readonly key: tf.Tensor4D; readonly value: tf.Tensor4D };
}

export interface CacheShape {
  readonly batch: number;
  readonly heads: number;
  readonly keySize: number;
  readonly valueSize: number;
}

/** New rows beside the old: what a kernel reads, and what makes them part of the cache. */
export interface StagedRows {
  /** Old and new rows; absent where a state takes their place. */
  readonly stored?: StoredKeyValue | undefined;
  /** All earlier tokens in a fixed number of tensors, for kernels that say `takesState`. */
  readonly state?: NamedTensors | undefined;
  /** Makes the new rows part of the cache. @param state what the kernel returned, where a state was staged */
  commit(state?: NamedTensors): void;
}

export interface KeyValueCache {
  readonly shape: CacheShape;
  readonly lengths: readonly number[]; // visible tokens, per batch entry
  readonly nextOrder: readonly number[]; // token order of the next row; goes on growing when a ring forgets
  readonly nextPosition: readonly number[]; // its position: less than the order after left padding
  readonly byteSize: number;
  readonly sealed: boolean; // filled once: a cross-attention cache; a layer given one needs no key
  seal(): void;
  /**
   * New rows beside the old, nothing changed yet. `commit` makes them part of the cache; without it nothing happened.
   * Call inside a tidy. A later stage, crop or reset makes earlier ones throw.
   *
   * @param rows key [B, Hkv, S, D], value [B, Hkv, S, Dv]; `lengths` [B] of them count, default all; `layer` is the one that
   *   writes, and the only one that may until `reset`
   * @throws ConfigError for another layer than the one before
   */
  stage(rows: {
    readonly key: tf.Tensor4D;
    readonly value: tf.Tensor4D;
    readonly lengths?: readonly number[] | undefined;
    readonly positions?: TokenPositions | undefined;
    readonly layer?: { readonly name: string } | undefined;
  }): StagedRows;
  read(): StoredKeyValue;
  crop(lengths: readonly number[]): void;
  reset(): void;
  dispose(): void;
}
