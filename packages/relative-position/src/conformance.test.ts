// Each position method on each variant, with and without a cache: results and gradients against its definition.
import {
  alibiOracle,
  axialRotaryOracle,
  bertRelativeOracle,
  debertaOracle,
  type LayerConfig,
  type PositionCase,
  type PositionVariant,
  positionCells,
  rotaryOracle,
  sampled,
  shawOracle,
  swinOracle,
  t5Oracle,
  transformerXLOracle,
  useOpaqueBackend,
} from '@polyhead/conformance';
import { type Attention, composed, firstSupported, type LayerParts } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention, type GroupedQueryConfig } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  alibi,
  alibiSlopes,
  axialRotary,
  bertRelative,
  deberta,
  debertaBucket,
  gridPositions,
  rotary,
  shaw,
  swin,
  t5,
  t5Bucket,
  transformerXL,
  windowPositions,
} from './index';

const fewBuckets = { numBuckets: 6, maxDistance: 5 };
const window = [2, 3] as const;
const debertaBuckets = { buckets: 4, maxDistance: 6 };

const methods: readonly PositionCase[] = [
  {
    name: 'rotary',
    create: ({ headDim }) => rotary({ headDim }),
    oracle: rotaryOracle({ rotaryDim: 4 }),
  },
  {
    name: 'rotary, interleaved, partial, scaled',
    create: ({ headDim }) =>
      rotary({ headDim, rotaryDim: 2, interleaved: true, scaling: { type: 'linear', factor: 3 } }),
    oracle: rotaryOracle({ rotaryDim: 2, interleaved: true, frequency: () => 1 / 3 }),
  },
  {
    name: 'alibi',
    create: ({ numHeads }) => alibi({ numHeads }),
    oracle: alibiOracle(alibiSlopes(4)),
  },
  {
    name: 'alibi, trained',
    create: ({ numHeads }) => alibi({ numHeads, trainable: true }),
    oracle: alibiOracle(),
  },
  {
    name: 't5',
    create: ({ numHeads }) => t5({ numHeads, ...fewBuckets }),
    oracle: t5Oracle((distance) => t5Bucket(distance, fewBuckets)),
    selfOnly: true,
  },
  {
    name: 't5, causal, cross-attention',
    create: ({ numHeads }) => t5({ numHeads, ...fewBuckets, bidirectional: false, crossAttention: true }),
    oracle: t5Oracle((distance) => t5Bucket(distance, { ...fewBuckets, bidirectional: false })),
  },
  {
    name: 'shaw',
    create: ({ headDim }) => shaw({ headDim, maxRelativePosition: 2 }),
    oracle: shawOracle({ k: 2 }),
  },
  {
    name: 'shaw, values, per head',
    create: ({ headDim, numHeads }) => shaw({ headDim, numHeads, maxRelativePosition: 1, valueTable: 'own' }),
    oracle: shawOracle({ k: 1, values: 'position/values' }),
  },
  {
    name: 'shaw, one table, zero beyond',
    create: ({ headDim }) => shaw({ headDim, maxRelativePosition: 1, valueTable: 'keys', beyond: 'zero' }),
    oracle: shawOracle({ k: 1, values: 'position/keys', beyond: 'zero' }),
  },
  {
    name: 'shaw, one row for all distances',
    create: ({ headDim }) => shaw({ headDim, maxRelativePosition: 0, valueTable: 'own' }),
    oracle: shawOracle({ k: 0, values: 'position/values' }),
  },
  {
    name: 'bertRelative, relative_key',
    create: ({ headDim }) => bertRelative({ headDim, maxPositions: 10 }),
    oracle: bertRelativeOracle({ P: 10, ofKeys: false }),
  },
  {
    name: 'bertRelative, relative_key_query',
    create: ({ headDim }) => bertRelative({ headDim, maxPositions: 10, type: 'relative_key_query' }),
    oracle: bertRelativeOracle({ P: 10, ofKeys: true }),
  },
  {
    name: 'transformerXL',
    create: (sizes) => transformerXL({ ...sizes, embedDim: 2 }),
    oracle: transformerXLOracle({ E: 2 }),
  },
  {
    name: 'deberta',
    create: (sizes) => deberta({ ...sizes, ...debertaBuckets }),
    oracle: debertaOracle({ span: 4, bucketOf: (relative) => debertaBucket(relative, debertaBuckets) }),
  },
  {
    name: 'swin',
    create: ({ numHeads }) => swin({ window, numHeads }),
    oracle: swinOracle(window),
    grid: {
      tokens: 6,
      positions: windowPositions(window),
      positionOf: (token) => Math.floor(token / 3) * 5 + (token % 3),
      refuses: 'positions must be those of windowPositions(window)',
    },
  },
  {
    name: 'axialRotary',
    create: ({ headDim }) => axialRotary({ headDim }),
    oracle: axialRotaryOracle({ headDim: 4, width: 3 }),
    grid: {
      tokens: 6,
      positions: gridPositions(window),
      positionOf: (token) => token,
      refuses: 'a token must have a position for each section',
    },
  },
];

const variants: readonly PositionVariant[] = [
  { name: 'MultiHeadAttention', create: (config, parts) => new MultiHeadAttention(config, parts) },
  {
    name: 'MultiHeadAttention with memory',
    config: { numMemoryKeyValues: 2 },
    create: (config, parts) => new MultiHeadAttention(config, parts),
    refusesTables: 'memory keys and values stand nowhere, so that relative tables have no distance for them',
  },
  {
    name: 'GroupedQueryAttention',
    config: { numKeyValueHeads: 2 },
    create: (config, parts) => new GroupedQueryAttention(config as GroupedQueryConfig, parts),
  },
];

const createCache = (layer: Attention, batch: number) => new GrowingCache(layer.cacheShape(batch));
const cells = positionCells({ methods, variants, createCache });
const tried = sampled(cells, 97, { onTensorFlow: 5 });

describe.each([...new Set(tried.map(({ method }) => method))])('%s', (method) => {
  it.each(tried.filter((cell) => cell.method === method))('$variant: $calls, mask $mask', ({ run }) => run());
});

// Graphics cards have no fused kernel.
if (!process.env.POLYHEAD_BACKEND?.startsWith('web')) {
  describe('by the fused kernel', () => {
    const kernel = firstSupported([{ ...flash(), worthwhile: () => true }, composed()]);
    const byFlash = variants.map((variant) => ({
      ...variant,
      create: (config: LayerConfig, parts: LayerParts) => variant.create(config, { kernel, ...parts }),
    }));
    const fused = positionCells({ methods, variants: byFlash, createCache });
    it.each(sampled(fused, 89))('$method, $variant: $calls, mask $mask', ({ run }) => run());
  });
}

// On a device, tables are looked up and pairs turned by operations.
if (process.env.POLYHEAD_BACKEND === 'cpu') {
  describe('the same where tensors cannot be reached', () => {
    let back: () => Promise<void>;
    beforeAll(async () => {
      back = await useOpaqueBackend();
    });
    afterAll(() => back());
    const some = ['one pass, own positions', 'gradients', 'gradients, own positions'];
    const chosen = cells.filter(
      ({ variant, calls }) => variant === 'GroupedQueryAttention' && some.includes(calls),
    );
    it.each(chosen)('$method: $calls, mask $mask', ({ run }) => run());
  });
}
