// One token more.
import { arenaContest } from '../arena';
import type { Contest } from '../contest';
import { ours } from '../kernel-under-test';
import { onnxruntimeNode, onnxruntimeNodeOps, onnxruntimeWeb, onnxruntimeWebOps } from '../peers/onnxruntime';
import { polyhead, polyheadKernels } from '../peers/polyhead';
import { pytorch, pytorchOps } from '../peers/pytorch';
import { composedOnTensorflow } from '../peers/tensorflow';
import { tfjsWasm, tunedTfjs } from '../peers/tfjs-wasm';
import { limitOfWasm, memoryRead } from '../wasm-limits';

export const decodeContests: readonly Contest[] = [
  arenaContest({
    work: 'decode, 32/8 heads, D 128, 4096 keys',
    attention: { heads: 32, keyValueHeads: 8, queries: 1, keys: 4096, headDim: 128, causal: false },
    runs: 25,
    contestants: [
      polyheadKernels('flash', 'plain', 'composed'),
      tunedTfjs,
      onnxruntimeWebOps,
      onnxruntimeNodeOps,
      composedOnTensorflow,
      pytorchOps,
      memoryRead,
    ],
    gates: [
      { ours: ours.flash, peer: tfjsWasm, measure: 'speed', bound: 5 },
      { ours: ours.plain, peer: tfjsWasm, measure: 'speed' },
      { ours: ours.flash, peer: onnxruntimeWeb, measure: 'speed', bound: 2.2 },
      { ours: ours.flash, peer: onnxruntimeNode, measure: 'speed', bound: 1.3 },
      { ours: ours.flash, peer: pytorch, ops: ['folded'], measure: 'speed', bound: 0.9 },
      { ours: ours.flash, peer: limitOfWasm, measure: 'share', aim: 0.4 },
      { ours: ours.flash, peer: polyhead, ops: [ours.composed], measure: 'speed' },
    ],
  }),
];
