// A forward pass and the gradients by query, key and value.
import { arenaContest } from '../arena';
import type { Contest } from '../contest';
import { ours } from '../kernel-under-test';
import { polyhead, polyheadKernels } from '../peers/polyhead';
import { pytorch, pytorchOps } from '../peers/pytorch';
import { composedOnTensorflow } from '../peers/tensorflow';
import { tfjsWasm, tunedTfjs } from '../peers/tfjs-wasm';
import { limitOfWasm, multiplyAddPeaks } from '../wasm-limits';
import { causalWork } from './prefill';

export const trainingContests: readonly Contest[] = [
  arenaContest({
    work: 'forward and backward, causal, 8 heads, S 1024, D 64',
    attention: causalWork(1024, { gradients: true }),
    runs: 5,
    contestants: [
      polyheadKernels('flash', 'composed'),
      tunedTfjs,
      composedOnTensorflow,
      pytorchOps,
      multiplyAddPeaks,
    ],
    gates: [
      { ours: ours.flash, peer: tfjsWasm, measure: 'speed', bound: 3 },
      { ours: ours.flash, peer: polyhead, ops: [ours.composed], measure: 'speed', bound: 3 },
      { ours: ours.flash, peer: pytorch, measure: 'speed', bound: 0.7, aim: 1 },
      { ours: ours.flash, peer: limitOfWasm, ops: ['relaxed multiply-add'], measure: 'share' },
    ],
  }),
];
