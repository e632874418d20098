// Prompts: every token attends to those before it.
import { arenaContest } from '../arena';
import type { AttentionWork } from '../attention-work';
import type { Contest } from '../contest';
import type { Gate } from '../gate';
import { ours } from '../kernel-under-test';
import { jaxAttention } from '../peers/jax-js';
import { onnxruntimeNode, onnxruntimeNodeOps, onnxruntimeWeb, onnxruntimeWebOps } from '../peers/onnxruntime';
import { polyhead, polyheadKernels } from '../peers/polyhead';
import { pytorch, pytorchOps } from '../peers/pytorch';
import { composedOnTensorflow, tensorflow } from '../peers/tensorflow';
import { tfjsWasm, tunedTfjs } from '../peers/tfjs-wasm';
import { limitOfWasm, multiplyAddPeaks } from '../wasm-limits';

const speed = 'speed';
const againstComposed = { peer: polyhead, ops: [ours.composed], measure: speed } as const;

export function causalWork(S: number, sizes: Partial<AttentionWork> = {}): AttentionWork {
  return { heads: 8, keyValueHeads: 8, queries: S, keys: S, headDim: 64, causal: true, ...sizes };
}

const eightHeads = arenaContest({
  work: 'causal prefill, 8 heads, S 2048, D 64',
  attention: causalWork(2048),
  runs: 9,
  contestants: [
    polyheadKernels('flash', 'plain', 'composed'),
    tunedTfjs,
    onnxruntimeWebOps,
    onnxruntimeNodeOps,
    composedOnTensorflow,
    pytorchOps,
    jaxAttention,
    multiplyAddPeaks,
  ],
  gates: [
    { ours: ours.flash, peer: tfjsWasm, measure: speed, bound: 3.5, aim: 5 },
    { ours: ours.plain, peer: tfjsWasm, measure: speed, bound: 2.6 },
    { ours: ours.flash, peer: onnxruntimeWeb, measure: speed, bound: 3.5, aim: 5 },
    {
      ours: ours.flash,
      peer: onnxruntimeNode,
      ops: ['MultiHeadAttention'],
      measure: speed,
      bound: 1.1,
      aim: 1.4,
    },
    { ours: ours.flash, peer: tensorflow, measure: speed, bound: 1.5, aim: 2 },
    {
      ours: ours.flash,
      peer: limitOfWasm,
      ops: ['relaxed multiply-add'],
      measure: 'share',
      bound: 0.75,
      aim: 0.9,
    },
    { ours: ours.plain, peer: limitOfWasm, ops: ['multiply, then add'], measure: 'share' },
    { ours: ours.flash, ...againstComposed },
    { ours: ours.composed, peer: tfjsWasm, measure: speed, bound: 1.5 },
  ],
});

const groupedHeads = arenaContest({
  work: 'causal prefill, 32/8 heads, S 2048, D 128',
  attention: causalWork(2048, { heads: 32, headDim: 128 }),
  runs: 3,
  contestants: [
    polyheadKernels('flash', 'plain', 'composed'),
    tunedTfjs,
    onnxruntimeWebOps,
    onnxruntimeNodeOps,
    composedOnTensorflow,
    pytorchOps,
    multiplyAddPeaks,
  ],
  gates: [
    { ours: ours.flash, peer: tfjsWasm, measure: speed, bound: 4 },
    { ours: ours.plain, peer: tfjsWasm, measure: speed },
    { ours: ours.flash, peer: onnxruntimeWeb, measure: speed, bound: 4 },
    { ours: ours.flash, peer: pytorch, ops: ['enable_gqa'], measure: speed, bound: 1.8 },
    { ours: ours.flash, peer: limitOfWasm, ops: ['relaxed multiply-add'], measure: 'share' },
    { ours: ours.plain, peer: limitOfWasm, ops: ['multiply, then add'], measure: 'share' },
    { ours: ours.flash, ...againstComposed },
  ],
});

const shorter = arenaContest({
  work: 'causal prefill, 8 heads, S 512, D 64',
  attention: causalWork(512),
  runs: 25,
  contestants: [
    polyheadKernels('flash', 'composed'),
    tunedTfjs,
    onnxruntimeWebOps,
    onnxruntimeNodeOps,
    composedOnTensorflow,
    pytorchOps,
  ],
  gates: [
    { ours: ours.composed, peer: tfjsWasm, measure: speed, bound: 1 },
    { ours: ours.flash, ...againstComposed },
    { ours: ours.flash, peer: tfjsWasm, measure: speed },
  ],
});

/** Where a kernel's own start counts most. */
const short = [16, 64, 128, 256].map((S) => {
  const gate: Gate = { ours: ours.flash, ...againstComposed, bound: 0.97, byFlash: S >= 128 };
  return arenaContest({
    work: `causal prefill, 8 heads, S ${S}, D 64`,
    attention: causalWork(S),
    runs: Math.round(8000 / S),
    contestants: [polyheadKernels('flash', 'composed')],
    gates: [gate],
  });
});

const threads = arenaContest({
  work: 'causal prefill, 8 heads, S 2048, D 64, 2 threads',
  attention: causalWork(2048),
  runs: 15,
  threaded: true,
  contestants: [polyheadKernels('flash', 'twoThreads')],
  gates: [{ ours: ours.twoThreads, peer: polyhead, ops: [ours.flash], measure: speed, bound: 1.6, aim: 1.9 }],
});

export const prefillContests: readonly Contest[] = [eightHeads, groupedHeads, threads, shorter, ...short];
