// The shortest complete cache: keys and values as they come, of whole batches, in token order.
import type { CacheShape, KeyValueCache, StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { contiguousStorage } from './stored-key-value';

type Rows = { readonly key: tf.Tensor4D; readonly value: tf.Tensor4D };

/**
 * Keeps every row as float32, at positions counted from 0. Where `valueSize` is 0, values are the first columns of keys, as many
 * as the staged values have. What a layer stages must have the shape it announced.
 */
export class PlainCache implements KeyValueCache {
  sealed = false;
  #rows: Rows | undefined;

  constructor(readonly shape: CacheShape) {}

  get lengths(): readonly number[] {
    return Array<number>(this.shape.batch).fill(this.#rows?.key.shape[2] ?? 0);
  }

  get nextOrder(): readonly number[] {
    return this.lengths;
  }

  get nextPosition(): readonly number[] {
    return this.lengths;
  }

  get byteSize(): number {
    return 4 * ((this.#rows?.key.size ?? 0) + (this.#rows?.value.size ?? 0));
  }

  seal(): void {
    this.sealed = true;
  }

  stage({ key, value }: Rows) {
    const { batch, heads, keySize, valueSize } = this.shape;
    const [, , S] = key.shape;
    const wide = valueSize === 0 ? Math.min(value.shape[3], keySize) : valueSize;
    if (`${key.shape}; ${value.shape}` !== `${[batch, heads, S, keySize]}; ${[batch, heads, S, wide]}`)
      throw new Error(`rows [${key.shape}] and [${value.shape}] are not of ${JSON.stringify(this.shape)}`);
    const old = this.#rows;
    const rows = old
      ? { key: tf.concat([old.key, key], 2), value: tf.concat([old.value, value], 2) }
      : { key: tf.clone(key), value: tf.clone(value) };
    return { stored: this.#stored(rows), commit: () => this.#keep(rows) };
  }

  read(): StoredKeyValue {
    if (!this.#rows) throw new Error('the cache is empty');
    return this.#stored(this.#rows);
  }

  crop([length]: readonly number[]): void {
    const { key, value } = this.#rows!;
    const first = (x: tf.Tensor4D) => tf.slice(x, [0, 0, 0, 0], [-1, -1, length!, -1]);
    this.#keep({ key: first(key), value: first(value) });
  }

  reset(): void {
    this.sealed = false;
    this.#keep(undefined);
  }

  dispose(): void {
    this.#keep(undefined);
  }

  #stored({ key, value }: Rows): StoredKeyValue {
    const columns = () => tf.slice(key, [0, 0, 0, 0], [-1, -1, -1, value.shape[3]]);
    return contiguousStorage(key, this.shape.valueSize === 0 ? columns() : value);
  }

  #keep(rows: Rows | undefined): void {
    const old = this.#rows;
    this.#rows = rows && { key: tf.keep(rows.key), value: tf.keep(rows.value) };
    tf.dispose(old ?? []);
  }
}
