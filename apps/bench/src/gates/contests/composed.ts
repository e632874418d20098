// `composed` where its own cost shows: many heads at once, and a call so small that the rest of the call counts.
import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { arenaContest, type Enter } from '../arena';
import type { Contest } from '../contest';
import { ours } from '../kernel-under-test';
import { polyhead, polyheadKernels } from '../peers/polyhead';
import { tfjsWasm } from '../peers/tfjs-wasm';
import { tensorContestant } from '../tensor-contestant';
import { causalWork } from './prefill';

const pieces = 16;
const piecewise = '16 times 8 heads';

const piecesOfHeads: Enter = async ({ work, tensors }) => {
  const H = work.heads / pieces;
  const [query, key, value] = [tensors.query, tensors.key, tensors.value].map((x) =>
    tf.slice(x, [0, 0, 0, 0], [1, H, -1, -1]),
  ) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
  const options = { mask: causal() };
  const run = () =>
    Array.from({ length: pieces }, () => attend(composed(), { query, key, value }, options).output);
  return [
    tensorContestant({ peer: polyhead, op: piecewise, run, dispose: () => tf.dispose([query, key, value]) }),
  ];
};

const manyHeads = arenaContest({
  work: 'many heads at once, causal prefill, 128 heads, S 512, D 64',
  attention: causalWork(512, { heads: 128, keyValueHeads: 128 }),
  runs: 5,
  contestants: [polyheadKernels('composed'), piecesOfHeads],
  gates: [{ ours: ours.composed, peer: polyhead, ops: [piecewise], measure: 'time', bound: 1.5 }],
});

const fourOperations: Enter = async ({ tensors: { query, key, value }, check }) => {
  const scale = 1 / Math.sqrt(query.shape[3]);
  const run = () =>
    tf.tidy(() =>
      tf.matMul(tf.softmax(tf.mul(tf.matMul(query, key, false, true), scale)), value as tf.Tensor),
    );
  return [tensorContestant({ peer: tfjsWasm, version: tf.version_core, op: 'four operations', run, check })];
};

const smallCall = arenaContest({
  work: 'a small call, 2 heads, S 8, D 16',
  attention: { heads: 2, keyValueHeads: 2, queries: 8, keys: 8, headDim: 16, causal: false },
  runs: 2000,
  contestants: [polyheadKernels('composed'), fourOperations],
  gates: [{ ours: ours.composed, peer: tfjsWasm, measure: 'more', bound: 0.1 }],
});

export const composedContests: readonly Contest[] = [manyHeads, smallCall];
