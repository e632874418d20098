// For those who use caches. Authors of caches find more in `row-cache.ts`.
export { cacheFromBytes, cacheToBytes } from './cache-bytes';
export { GrowingCache } from './growing-cache';
export { PagePool, type PagePoolOptions } from './page-pool';
export { PagedCache } from './paged-cache';
export { type CacheClass, predictCacheBytes } from './predict-cache-bytes';
export { QuantizedCache, type QuantizedCacheOptions } from './quantized-cache';
export { RingCache, type RingCacheOptions } from './ring-cache';
export type { KeyFormat, NumberFormat } from './rows/quantized-rows';
export { SharedCache } from './shared-cache';
export { StaticCache, type StaticCacheOptions } from './static-cache';
