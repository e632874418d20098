// The variants that are compared. An entry here is all that a variant needs to stand in every table.
import { type LayerOracle, layerOracle } from '@polyhead/conformance/oracle';
import type { Attention, AttentionConfig, AttentionParts, CacheShape, VariableShapes } from '@polyhead/core';
import * as groupedQuery from '@polyhead/grouped-query';
import { type AttentionCost, attentionCost, type CostCall, cacheShape } from '@polyhead/inspect';
import * as multiHead from '@polyhead/multi-head';
import { type SampledLayer, type SampledPart, sampleLayer } from '../oracle/sampled-layer';

/** Of a layer, whatever the variant. */
export interface ComparedConfig {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly useBias?: AttentionConfig['useBias'];
  readonly seed?: number | undefined;
}

export interface ComparedVariant {
  readonly name: string;
  /** Compared only where it is asked for; `bench train` always trains it. */
  readonly isOptional?: true;
  /** Where heads share keys and values by groups: what multi-head weights can be pooled into. */
  readonly keyValueHeads?: number;
  /** What it does not fit in a layer, in words that follow "whose"; undefined where it fits. */
  unfit(config: ComparedConfig): string | undefined;
  /** Of its variables, known without allocating any. */
  variableShapes(config: ComparedConfig): VariableShapes;
  /** What a cache keeps, known without making a layer. */
  cacheShape(config: ComparedConfig, batch: number): CacheShape;
  create(config: ComparedConfig, parts: AttentionParts): Attention;
  /** Operations and bytes of a call. */
  cost(config: ComparedConfig, call: CostCall): AttentionCost;
  /** Its definition in doubles, of some heads and columns of a layer that `create` has made. */
  sample(layer: Attention, part: SampledPart): SampledLayer;
  /** The same of a whole layer, with positions: for few tokens. */
  readonly oracle: LayerOracle;
}

/** The first is what the others are compared with, and always there. */
export const variants: readonly ComparedVariant[] = [
  {
    name: 'multi-head',
    unfit: () => undefined,
    variableShapes: multiHead.variableShapes,
    cacheShape,
    create: (config, parts) => new multiHead.MultiHeadAttention(config, parts),
    cost: attentionCost,
    sample: sampleLayer,
    oracle: layerOracle,
  },
  grouped('grouped-8', 8),
  grouped('grouped-6', 6),
  grouped('grouped-4', 4),
  { ...grouped('grouped-2', 2), isOptional: true },
  grouped('multi-query', 1),
];

function grouped(name: string, numKeyValueHeads: number): ComparedVariant {
  return {
    name,
    keyValueHeads: numKeyValueHeads,
    unfit: ({ numHeads }) =>
      numHeads % numKeyValueHeads === 0 ? undefined : `${numHeads} heads do not divide so`,
    variableShapes: (config) => groupedQuery.variableShapes({ ...config, numKeyValueHeads }),
    cacheShape: (config, batch) => cacheShape({ ...config, numKeyValueHeads }, batch),
    create: (config, parts) => new groupedQuery.GroupedQueryAttention({ ...config, numKeyValueHeads }, parts),
    cost: (config, call) => attentionCost({ ...config, numKeyValueHeads }, call),
    sample: sampleLayer,
    oracle: layerOracle,
  };
}
