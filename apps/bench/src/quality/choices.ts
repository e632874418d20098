// What can be done to a decoder's keys and values to make them smaller. An entry of the list is all that a cache, or a way to
// change weights, needs to have its quality measured and to stand in the report; so is a model that was trained for it.
import type { CacheShape, KeyValueCache } from '@polyhead/core';
import { GrowingCache, QuantizedCache, RingCache } from '@polyhead/kv-cache';
import type { LoadedModel } from '../model/loaded-model';
import { poolKeyValueHeads } from './pool-heads';

export interface QualityChoice {
  readonly name: string;
  /** Points of one kind are joined by a line: `cache`, `pooled heads`. */
  readonly kind: string;
  /** Measured by `--quick`, too. */
  readonly isQuick?: true;
  /** A cache of one layer. Default: one that keeps all tokens as they are. */
  createCache?(shape: CacheShape): KeyValueCache;
  /** The most tokens of a call, where a cache forgets only between calls. Default: all of the text. */
  readonly tokensACall?: number;
  /** Changes the weights of the model. Gives what takes the change back, and the share of the bytes that is left. */
  change?(loaded: LoadedModel): { restore(): void; readonly bytesShare: number };
}

const window = 32;

/** The first is what the others are compared with. */
export const qualityChoices: readonly QualityChoice[] = [
  { name: 'as it is', kind: 'as it is', isQuick: true },
  {
    name: '8 bits',
    kind: 'fewer bits',
    isQuick: true,
    createCache: (shape) => new QuantizedCache(shape, { keys: 'int8', values: 'int8' }),
  },
  {
    name: 'keys 8 bits, values 4',
    kind: 'fewer bits',
    createCache: (shape) => new QuantizedCache(shape, { keys: 'int8', values: 'int4' }),
  },
  {
    name: '4 bits',
    kind: 'fewer bits',
    createCache: (shape) => new QuantizedCache(shape, { keys: 'int4', values: 'int4' }),
  },
  {
    name: '4 bits, keys by channel',
    kind: 'fewer bits',
    createCache: (shape) => new QuantizedCache(shape, { keys: 'int4-channel', values: 'int4' }),
  },
  {
    name: `the last ${window} and 4 sinks`,
    kind: 'fewer tokens',
    tokensACall: 8,
    createCache: (shape) => new RingCache(shape, { window, sinks: 4 }),
  },
  {
    name: `the last ${window + 4}, no sinks`,
    kind: 'fewer tokens',
    tokensACall: 8,
    createCache: (shape) => new RingCache(shape, { window: window + 4, sinks: 0 }),
  },
  { name: 'a third of layers pooled', kind: 'pooled heads', change: pooledFrom(2 / 3) },
  { name: 'all layers pooled', kind: 'pooled heads', isQuick: true, change: pooledFrom(0) },
];

/** One key/value head, the mean of all, in the layers from this share of them on. */
function pooledFrom(share: number): NonNullable<QualityChoice['change']> {
  return (loaded) => poolKeyValueHeads(loaded, share);
}

export const exactCache = (shape: CacheShape): KeyValueCache => new GrowingCache(shape);
