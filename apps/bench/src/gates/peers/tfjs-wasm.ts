// TensorFlow.js on wasm as one would use it by hand.
import * as tf from '@tensorflow/tfjs-core';
import type { Arena, Enter } from '../arena';
import type { Contestant } from '../contestant';
import type { Gate } from '../gate';
import { tensorContestant } from '../tensor-contestant';
import { batchedStep, causalBias, gradientsOf, splitHeads, splitStep, tunedHeads } from '../tuned-tfjs';

export const tfjsWasm = 'tfjs-wasm';

/** Its product of rows with a matrix. */
export const tfjsMatMul = { peer: tfjsWasm, version: tf.version_core, op: 'matMul' } as const;

/** How many times as fast one of ours is as that. */
export const overMatMul = (ours: string, bound?: number, aim?: number): Gate => ({
  ours,
  peer: tfjsWasm,
  measure: 'speed',
  ...(bound !== undefined && { bound }),
  ...(aim !== undefined && { aim }),
});

export const tunedTfjs: Enter = async (arena) =>
  arena.work.queries === 1 ? [batched(arena), split(arena)] : [headByHead(arena)];

/** Also what tfjs derives of it, where gradients are asked for. */
function headByHead({ work, tensors, check }: Arena): Contestant {
  const bias = work.causal ? causalBias(work.queries) : undefined;
  const output = (query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) =>
    tunedHeads({ query, key, value }, bias);
  const run = work.gradients
    ? () => gradientsOf(output, tensors)
    : () => output(tensors.query, tensors.key, tensors.value);
  return contestant('a product a head', { run, check, dispose: () => bias?.dispose() });
}

function batched({ tensors, check }: Arena): Contestant {
  return contestant('batched', { run: () => batchedStep(tensors), check });
}

function split({ tensors, check }: Arena): Contestant {
  const heads = splitHeads(tensors.key, tensors.value);
  return contestant('a matrix a head', {
    run: () => splitStep(tensors.query, heads),
    check,
    dispose: () => tf.dispose([...heads.keys, ...heads.valueColumns]),
  });
}

type Run = Pick<Parameters<typeof tensorContestant>[0], 'run' | 'check' | 'dispose'>;

const contestant = (op: string, run: Run) =>
  tensorContestant({ peer: tfjsWasm, version: tf.version_core, op, ...run });
