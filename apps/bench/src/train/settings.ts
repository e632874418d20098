// How much is trained, and in words how.
import { smallDecoder } from '../model/own/own-model';
import { numHeads } from './candidates';
import type { TrainSettings } from './result';

/** Of each decoder, and how many seeds: an hour on two cores. */
export const usual = { steps: 500, seeds: 3 } as const;
/** A minute. */
export const quick = { steps: 40, seeds: 1 } as const;

/** @param options `quick`: fewer held-out windows */
export function settingsOf(options: { readonly quick: boolean; readonly steps: number }): TrainSettings {
  const { steps } = options;
  return {
    steps,
    batch: 4,
    length: 128,
    heldOutBatches: options.quick ? 8 : 32,
    stepsAPoint: 10,
    uptrainingSteps: Math.max(1, Math.round(steps / 20)),
  };
}

export function methodOf({ steps, batch, length, heldOutBatches, uptrainingSteps }: TrainSettings): string[] {
  const { numLayers, embedDim } = smallDecoder;
  return [
    `Decoders of ${numLayers} layers, ${embedDim} wide, ${numHeads} heads of ${embedDim / numHeads}, on bytes of Moby Dick: ${steps} steps of ${batch} × ${length} bytes each, a small part of the book. AdamW (beta2 0.98, decay 0.05 of matrices), gradients clipped at norm 1, rate up to 0.003 and down to 0.0001 as a cosine, float32, backend wasm.`,
    ...(steps < usual.steps
      ? [
          `Shorter than \`bench train\` without options, which takes ${usual.steps} steps: what takes longer to learn is not seen.`,
        ]
      : []),
    'Decoders of one seed start from weights of that seed, equal where names and shapes are, and read the same batches; another seed has other weights and other batches.',
    `Held-out losses are of ${batch * heldOutBatches} windows that lie evenly over the last five chapters, the same ones for all, in bits a byte; ± is the standard deviation over seeds.`,
    'A difference is the mean of differences seed by seed, ± their standard deviation. It lies within the spread unless all seeds agree on its sign and it is more than twice that deviation: with three seeds chance alone does so about once in 14 comparisons.',
    `Pooled: each key/value head is the mean of its group in the trained reference (Ainslie et al. 2023, arXiv 2305.13245). Trained on: ${uptrainingSteps} steps more, with a new optimizer and rates up to 0.001; the same for the reference.`,
    'Cache bytes are of keys and values of a token in all layers, as float32. Times of a step are processor time beside the reference, medians of steps that took turns in one process.',
  ];
}
