// The layers whose memory and speed are compared, and their variants.
import type { AttentionConfig, Initializer } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { typicalModels } from '@polyhead/inspect';
import { MultiHeadAttention } from '@polyhead/multi-head';
import type { ProjectedLayer } from '../oracle/sampled-layer';
import type { ComparisonChoice, ShapeName, VariantName } from './names';

export interface ComparisonShape {
  readonly name: ShapeName;
  readonly title: string;
  readonly config: {
    readonly embedDim: number;
    readonly numHeads: number;
    readonly useBias?: AttentionConfig['useBias'];
  };
  /** Batches whose prefill is timed: products with 4096 × 4096 numbers take long for many tokens. */
  readonly prefillBatches: readonly number[];
  /** Runs that are timed. */
  readonly samples: number;
  /** What `--quick` compares. */
  readonly quick: Pick<ComparisonChoice, 'variant' | 'batch'> & { readonly samples: number };
}

export const comparisonShapes: Readonly<Record<ShapeName, ComparisonShape>> = {
  'gpt-2': {
    name: 'gpt-2',
    title: 'GPT-2-like layer',
    config: configOf('GPT-2 small'),
    prefillBatches: [1, 4],
    samples: 9,
    quick: { samples: 5 },
  },
  'llama-2-7b': {
    name: 'llama-2-7b',
    title: 'Llama-2-7B-like layer',
    config: configOf('LLaMA-2 7B'),
    prefillBatches: [1],
    samples: 5,
    quick: { samples: 3, variant: ['multi-head', 'grouped-8'], batch: [1] },
  },
};

function configOf(model: string): ComparisonShape['config'] {
  const found = typicalModels.find(({ name }) => name === model)?.config;
  if (!found) throw new Error(`comparisonShapes: there is no model ${model}`);
  return found;
}

/** Hkv of a variant of a layer with Hq heads. A variant exists where Hkv divides Hq. */
export function keyValueHeadsOf(variant: VariantName, numHeads: number): number {
  const counts: Record<VariantName, number> = {
    'multi-head': numHeads,
    'grouped-8': 8,
    'grouped-6': 6,
    'grouped-4': 4,
    'multi-query': 1,
  };
  return counts[variant];
}

/** Layers of one shape start alike, whatever the variant. */
export function createVariant(
  { config }: ComparisonShape,
  variant: VariantName,
  initializer: Initializer,
): ProjectedLayer {
  const seeded = { ...config, seed: 1 };
  if (variant === 'multi-head') return new MultiHeadAttention(seeded, { initializer });
  const numKeyValueHeads = keyValueHeadsOf(variant, config.numHeads);
  return new GroupedQueryAttention({ ...seeded, numKeyValueHeads }, { initializer });
}
