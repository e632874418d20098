// The ways in which a model can generate: which cache, which kernel.
import { type AttentionKernel, composed } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import { type CausalModel, ModelCache } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';

const cacheNames = ['none', 'growing', 'static'] as const;
export type CacheName = (typeof cacheNames)[number];

export interface Way {
  readonly cache: CacheName;
  readonly kernel: AttentionKernel;
}

/** Kernels that run on the current backend: flash where it can. */
export async function kernelsHere(): Promise<AttentionKernel[]> {
  const fused = flash();
  await fused.prepare?.();
  // What flash falls back to elsewhere is composed itself.
  return ['wasm', 'cpu'].includes(tf.getBackend()) ? [composed(), fused] : [composed()];
}

export function waysOf(kernels: readonly AttentionKernel[]): Way[] {
  return kernels.flatMap((kernel) => cacheNames.map((cache) => ({ cache, kernel })));
}

export const wayName = ({ cache, kernel }: Way) => `${cache === 'none' ? 'no' : cache} cache, ${kernel.name}`;

/** @param tokens the most that each layer will hold; @param source rows of an encoder's output */
export function cacheOf(
  name: CacheName,
  decoder: CausalModel,
  { tokens, source = 1 }: { readonly tokens: number; readonly source?: number },
): ModelCache | undefined {
  if (name === 'none') return undefined;
  const shapes = decoder.cacheShapes(1);
  if (name === 'growing') return new ModelCache(shapes, (shape) => new GrowingCache(shape));
  return new ModelCache(shapes, {
    self: (shape) => new StaticCache(shape, { capacity: tokens }),
    cross: (shape) => new StaticCache(shape, { capacity: source }),
  });
}

/** Bytes of such a cache that holds `held` tokens, before it is made. */
export function predictedBytes(
  name: CacheName,
  decoder: CausalModel,
  { tokens, held, source = 1 }: { readonly tokens: number; readonly held: number; readonly source?: number },
): number {
  if (name === 'none') return 0;
  return ModelCache.bytesFor(decoder.cacheShapes(1), (shape, _, of) => {
    if (name === 'static') return StaticCache.bytesFor(shape, { capacity: of === 'self' ? tokens : source });
    return GrowingCache.bytesFor(shape, { tokens: of === 'self' ? held : source });
  });
}
