// Attention layers of well-known models, as numbers to compare with.
import type { CacheShape } from '@polyhead/core';
import { cacheShape, type LayerConfig } from './layer-config';

/** The attention of a well-known model. */
export interface TypicalModel {
  /** As its paper or its files call it: `BERT-base`. */
  readonly name: string;
  /** Attention layers, all alike. */
  readonly layers: number;
  /** Of one layer; absent where heads come from a latent, which no config here describes. */
  readonly config?: LayerConfig;
  /** What a cache keeps of one token of one batch entry in one layer; absent in an encoder, which keeps nothing. */
  readonly cached?: CacheShape;
  /** Author, year and arXiv number, where it has one. */
  readonly source: string;
}

/** Oldest first. Counts are of attention alone: no embeddings, norms or feed-forward layers. */
export const typicalModels: readonly TypicalModel[] = [
  {
    name: 'BERT-base',
    layers: 12,
    config: { embedDim: 768, numHeads: 12, useBias: true },
    source: 'Devlin et al. 2018, 1810.04805',
  },
  {
    name: 'BERT-large',
    layers: 24,
    config: { embedDim: 1024, numHeads: 16, useBias: true },
    source: 'Devlin et al. 2018, 1810.04805',
  },
  decoder('GPT-2 small', 12, {
    config: { embedDim: 768, numHeads: 12, useBias: true },
    source: 'Radford et al. 2019',
  }),
  decoder('GPT-2 large', 36, {
    config: { embedDim: 1280, numHeads: 20, useBias: true },
    source: 'Radford et al. 2019',
  }),
  decoder('GPT-3 175B', 96, {
    config: { embedDim: 12288, numHeads: 96, useBias: true },
    source: 'Brown et al. 2020, 2005.14165',
  }),
  decoder('LLaMA-2 7B', 32, {
    config: { embedDim: 4096, numHeads: 32 },
    source: 'Touvron et al. 2023, 2307.09288',
  }),
  decoder('LLaMA-2 70B', 80, {
    config: { embedDim: 8192, numHeads: 64, numKeyValueHeads: 8 },
    source: 'Touvron et al. 2023, 2307.09288',
  }),
  decoder('Mistral 7B', 32, {
    config: { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 },
    source: 'Jiang et al. 2023, 2310.06825',
  }),
  decoder('LLaMA-3 8B', 32, {
    config: { embedDim: 4096, numHeads: 32, numKeyValueHeads: 8 },
    source: 'Grattafiori et al. 2024, 2407.21783',
  }),
  {
    name: 'DeepSeek-V2',
    layers: 60,
    // 128 heads read one latent of 512 numbers and 64 rotated ones; values come from the latent too.
    cached: { batch: 1, heads: 1, keySize: 512 + 64, valueSize: 0 },
    source: 'DeepSeek-AI 2024, 2405.04434',
  },
];

function decoder(
  name: string,
  layers: number,
  { config, source }: { readonly config: LayerConfig; readonly source: string },
): TypicalModel {
  return { name, layers, config, cached: cacheShape(config), source };
}
