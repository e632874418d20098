// What all contestants of a contest compute, and how much that is.
import { noise } from '../measure/noise';

/** Attention of one sequence in float32, from heads that are projected already. */
export interface AttentionWork {
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly headDim: number;
  readonly causal: boolean;
  /** The gradients by query, key and value as well, for a given gradient of the output. */
  readonly gradients?: boolean;
}

/** Row-major, heads first. */
export interface AttentionInputs {
  readonly query: Float32Array; // [Hq, Sq, D]
  readonly key: Float32Array; // [Hkv, Skv, D]
  readonly value: Float32Array; // [Hkv, Skv, D]
  readonly outputGradient: Float32Array; // [Hq, Sq, D]
}

/** Uniform, of variance 1. */
export function inputsOf({ heads, keyValueHeads, queries, keys, headDim }: AttentionWork): AttentionInputs {
  const limit = Math.sqrt(3);
  const rows = (count: number, seed: number) => noise(count * headDim, { seed, limit });
  return {
    query: rows(heads * queries, 1),
    key: rows(keyValueHeads * keys, 2),
    value: rows(keyValueHeads * keys, 3),
    outputGradient: rows(heads * queries, 4),
  };
}

/** Operations of the two products, or of the seven with gradients, over the pairs that are visible. */
export function flopOf({ heads, queries, keys, headDim, causal, gradients }: AttentionWork): number {
  const pairs = causal ? queries * (keys - queries) + (queries * (queries + 1)) / 2 : queries * keys;
  return (gradients ? 7 : 2) * 2 * heads * pairs * headDim;
}

/** Bytes of all keys and values, each read once. */
export function keyValueBytes({ keyValueHeads, keys, headDim }: AttentionWork): number {
  return 2 * keyValueHeads * keys * headDim * Float32Array.BYTES_PER_ELEMENT;
}
