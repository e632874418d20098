// The layers and lengths whose prefill is timed.
import { causal, type Mask } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import type { BackendName } from '../backends/backend-name';
import { publishedAttention } from '../published/attention';
import type { ModelFiles } from '../published/model-files';

export interface PrefillCase {
  readonly layer: string;
  readonly length: number;
  readonly mask?: Mask; // absent: every token sees every token
  /** On the current backend, with the same weights on each. */
  create(): MultiHeadAttention;
}

/** What the names stand for. */
export const layerNotes = [
  'encoder: layer 1 of the model, 256 → 512 wide, 4 heads × 64, every token sees every token',
  'decoder: 512 wide, 8 heads × 64, causal',
];

export function prefillCases(files: ModelFiles, lengths: readonly number[]): PrefillCase[] {
  const layers = [
    { layer: 'encoder', create: () => publishedAttention(files, 0) },
    {
      layer: 'decoder',
      mask: causal(),
      create: () => new MultiHeadAttention({ embedDim: 512, numHeads: 8, seed: 1 }),
    },
  ];
  return layers.flatMap((layer) => lengths.map((length) => ({ ...layer, length })));
}

/** Enough for a median where a run takes milliseconds. Plain JavaScript takes seconds for the longest, which is left out. */
export function sampleCount(backend: BackendName, length: number): number {
  if (backend !== 'cpu') return 15;
  return length >= 512 ? 0 : 3;
}
