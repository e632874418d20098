// The rows of a cache as kernels read them.
import type { CacheShape, KeyValuePart, StoredKeyValue } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { assembleRows, type KeyValueRows } from './assemble-rows';
import { type PositionRuns, tokenPositions } from './position-runs';
import { equalRoom } from './row-layout';

/** What is known of the tokens beside their rows. */
export interface Tokens {
  readonly lengths: readonly number[]; // [B]
  readonly positions: readonly PositionRuns[]; // [B]
}

/** @param check throws once the rows have changed */
export function storedRows(
  shape: CacheShape,
  { lengths, positions }: Tokens,
  { rows, check }: { readonly rows: KeyValueRows | undefined; readonly check: () => void },
): StoredKeyValue {
  const { batch, heads, keySize, valueSize } = shape;
  const S = Math.max(...lengths);
  return {
    heads,
    keySize,
    valueSize,
    lengths,
    order: { start: [0] },
    positions: tokenPositions(positions, S),
    get parts() {
      check();
      return rows ? [partOf(rows, lengths)] : [];
    },
    materialize() {
      check();
      const sources = rows ? [{ ...rows, counts: lengths }] : [];
      return tf.tidy(() => {
        const { key, value } = assembleRows(shape, sources, equalRoom(shape, S));
        return {
          key: tf.reshape<tf.Rank.R4>(key, [batch, heads, S, keySize]),
          value: tf.reshape<tf.Rank.R4>(value, [batch, heads, S, valueSize]),
        };
      });
    },
  };
}

function partOf({ key, value, layout }: KeyValueRows, lengths: readonly number[]): KeyValuePart {
  const matrix = (data: tf.Tensor2D) => ({ data, first: 0, size: data.shape[1] });
  return {
    key: matrix(key),
    value: matrix(value),
    headStride: layout.headStride,
    runs: (b) => (lengths[b] === 0 ? new Int32Array() : Int32Array.of(layout.first[b]!, lengths[b]!)),
  };
}
