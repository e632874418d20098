// What can be compared, by name: read by the command line before TensorFlow.js is loaded.

/** `grouped-8` has 8 key/value heads. */
export const variantNames = ['multi-head', 'grouped-8', 'grouped-6', 'grouped-4', 'multi-query'] as const;
export type VariantName = (typeof variantNames)[number];

export const cacheNames = ['growing', 'static'] as const;
export type CacheName = (typeof cacheNames)[number];

export const shapeNames = ['gpt-2', 'llama-2-7b'] as const;
export type ShapeName = (typeof shapeNames)[number];

export const batchSizes = [1, 4] as const;

/** Of a cache: the prompt and the steps of a measurement must fit, and so must the cache on the heap. */
export const tokenRange = { from: 32, to: 4096 } as const;

/** Which cases are compared. What is left out is chosen by default. */
export interface ComparisonChoice {
  readonly variant?: readonly VariantName[];
  readonly cache?: readonly CacheName[];
  readonly shape?: readonly ShapeName[];
  readonly tokens?: readonly number[];
  readonly batch?: readonly number[];
}
