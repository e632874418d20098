// What a layer is timed at: a token, or a prompt, with rotary positions and a cache.
import type { Absence, Contestant } from './contestant';

export interface LayerWork {
  /** E */
  readonly width: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  /** Tokens of a call. */
  readonly tokens: number;
  /** Tokens in the cache before it; of tokens one by one those in the middle of a turn. */
  readonly keys: number;
  /** Calls of a turn. */
  readonly calls: number;
}

/** Who computes it. */
export const layerOps = {
  layer: 'layer',
  dense: 'layer, dense',
  products: 'its four products alone',
  parts: 'its products, and attend on ready heads',
} as const;

/** The same layer as a graph of onnxruntime. */
export const onnxOp = 'MatMul, GroupQueryAttention, MatMul';

/** What the process of layers says first. */
export interface LayerGreeting {
  /** Of TensorFlow.js. */
  readonly version: string;
  /** Other libraries, asked for by their names. */
  readonly peers: readonly (Pick<Contestant, 'peer' | 'op' | 'version'> | Absence)[];
}
