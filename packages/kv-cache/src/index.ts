export { GrowingCache } from './growing-cache';
export { type CacheKind, predictCacheBytes } from './predict-cache-bytes';
export { StaticCache } from './static-cache';
