// The suites of the layers with the fused kernel in place of the default one.
import { commonOptions, describeVariant } from '@polyhead/conformance';
import { type AttentionKernel, composed, firstSupported, type LayerParts } from '@polyhead/core';
import { GroupedQueryAttention, type GroupedQueryConfig } from '@polyhead/grouped-query';
import { MultiHeadAttention, type MultiHeadConfig } from '@polyhead/multi-head';
import { flash } from './index';

// Preferred even where another kernel is faster; `composed` runs where weights are asked for.
const preferred: AttentionKernel = { ...flash(), worthwhile: () => true };
const kernel = firstSupported([preferred, composed()]);
const knownGaps = {
  'returns what the call names, with its shape, and the same output':
    'weights come from another kernel, which rounds otherwise',
  'runs the kernel of the call, else its own, and names it': 'a layer without a kernel gets this one here',
};
const withFlash = (parts: LayerParts = {}): LayerParts => ({ kernel, ...parts });

describeVariant('MultiHeadAttention by flash', {
  create: (config, parts) => new MultiHeadAttention(config as MultiHeadConfig, withFlash(parts)),
  knownGaps,
});

describeVariant('GroupedQueryAttention by flash', {
  create: (config, parts) =>
    new GroupedQueryAttention(
      { numKeyValueHeads: config.numHeads, ...config } as GroupedQueryConfig,
      withFlash(parts),
    ),
  options: [...commonOptions, 'numKeyValueHeads'],
  knownGaps,
});
