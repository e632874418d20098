// The layers whose memory and speed are compared, by the models they are like.
import { typicalModels } from '@polyhead/inspect';
import type { ComparedConfig } from './variants';

export interface ComparedLayer {
  readonly name: string;
  readonly title: string;
  readonly config: ComparedConfig;
  /** Compared only where it is asked for, or wanted for its size. */
  readonly isOptional?: true;
  /** So large that a prompt takes seconds, and plain JavaScript seconds for one product. */
  readonly isLarge?: true;
  /** Batches that are compared where none is chosen. Default: all. */
  readonly batch?: readonly number[];
  /** Calls that are timed. */
  readonly samples: number;
  /** What `--quick` compares. */
  readonly quick: {
    readonly samples: number;
    readonly variant?: readonly string[];
    readonly batch?: readonly number[];
  };
}

export const layers: readonly ComparedLayer[] = [
  {
    name: 'gpt-2',
    title: 'GPT-2-like layer',
    config: configOf('GPT-2 small'),
    samples: 9,
    quick: { samples: 5 },
  },
  {
    name: 'width-512',
    title: 'Layer 512 wide',
    config: { embedDim: 512, numHeads: 8 },
    isOptional: true,
    samples: 11,
    quick: { samples: 5 },
  },
  {
    name: 'llama-2-7b',
    title: 'Llama-2-7B-like layer',
    config: configOf('LLaMA-2 7B'),
    isLarge: true,
    batch: [1],
    samples: 3,
    quick: { samples: 3, variant: ['multi-head', 'grouped-8'], batch: [1] },
  },
];

function configOf(name: string): ComparedConfig {
  const config = typicalModels.find((model) => model.name === name)?.config;
  if (!config) throw new Error(`layers: there is no model ${name}`);
  return config;
}
