// Where the variables of a model lie in a checkpoint. Layers and families of models say it; `@polyhead/weights` reads by it.

/**
 * What is done to the numbers of a tensor, in order, until they are a variable's. A checkpoint's [out, in] becomes [in, out]
 * by `{ transpose: [1, 0] }`; queries, keys and values fused head by head, [H · 3 · D, E], give the keys by
 * `{ reshape: [H, 3, D, E] }, { slice: { axis: 1, start: 1, size: 1 } }, { reshape: [H * D, E] }`.
 */
export type WeightStep =
  /** Other sizes for the same numbers in the same order; one may be -1, and follows from the others. */
  | { readonly reshape: readonly number[] }
  /** All axes in another order, as in `tf.transpose`. */
  | { readonly transpose: readonly number[] }
  /** The part of one axis from `start`, `size` long. */
  | { readonly slice: { readonly axis: number; readonly start: number; readonly size: number } }
  /** Each number x as `scale · x + offset`; defaults 1 and 0. A norm stored as w that multiplies by 1 + w: `{ offset: 1 }`. */
  | { readonly affine: { readonly scale?: number; readonly offset?: number } };

/** Where the numbers of one variable lie. */
export interface WeightSource {
  /** The tensor's name; of several, the first that the checkpoint has. */
  readonly tensor: string | readonly string[];
  /** What is done to its numbers, in order. Default: nothing. */
  readonly steps?: readonly WeightStep[] | undefined;
  /** The variable keeps its own numbers where the checkpoint has no such tensor. Default: false, it must be there. */
  readonly optional?: boolean | undefined;
}

/** Where all variables of a model lie, as plain JSON. */
export interface WeightTable {
  /** By the variables' whole names, such as "block0/attention/query/kernel". */
  readonly variables: { readonly [name: string]: WeightSource };
  /** Tensors that the model computes or does without; `*` stands for any text: "*.rotary_emb.inv_freq". Default: none. */
  readonly ignored?: readonly string[] | undefined;
  /**
   * Tensors that a checkpoint may hold once more, by the name of the one that is read: { "lm_head.weight":
   * "model.embed_tokens.weight" }. They must hold the same numbers. Default: none.
   */
  readonly tied?: { readonly [name: string]: string } | undefined;
}
