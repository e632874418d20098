// The layers whose memory and speed are compared, by the models they are like.
import { typicalModels } from '@polyhead/inspect';
import type { ComparedConfig } from './variants';

export interface ComparisonShape {
  readonly name: string;
  readonly title: string;
  readonly config: ComparedConfig;
  /** So large that plain JavaScript takes seconds for one product. */
  readonly isLarge?: true;
  /** Batches whose prefill is timed: products with 4096 × 4096 numbers take long for many tokens. */
  readonly prefillBatches: readonly number[];
  /** Batches that are compared where none is chosen. Default: all. */
  readonly batch?: readonly number[];
  /** Runs that are timed. */
  readonly samples: number;
  /** What `--quick` compares. */
  readonly quick: {
    readonly samples: number;
    readonly variant?: readonly string[];
    readonly batch?: readonly number[];
  };
}

export const shapes: readonly ComparisonShape[] = [
  {
    name: 'gpt-2',
    title: 'GPT-2-like layer',
    config: configOf('GPT-2 small'),
    prefillBatches: [1, 4],
    samples: 9,
    quick: { samples: 5 },
  },
  {
    name: 'llama-2-7b',
    title: 'Llama-2-7B-like layer',
    config: configOf('LLaMA-2 7B'),
    isLarge: true,
    prefillBatches: [1],
    batch: [1],
    samples: 3,
    quick: { samples: 3, variant: ['multi-head', 'grouped-8'], batch: [1] },
  },
];

function configOf(name: string): ComparedConfig {
  const config = typicalModels.find((model) => model.name === name)?.config;
  if (!config) throw new Error(`shapes: there is no model ${name}`);
  return config;
}
