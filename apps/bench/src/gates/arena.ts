// Where the contestants of a contest meet: one work, the same inputs, one check.
import * as tf from '@tensorflow/tfjs-core';
import { type AttentionInputs, type AttentionWork, inputsOf } from './attention-work';
import { againstDoubles, againstNumbers, type Check } from './check';
import type { Contest } from './contest';
import type { Entry } from './contestant';
import { type HeadTensors, tensorsOf } from './head-tensors';
import { causalBias, gradientsOf, tunedHeads } from './tuned-tfjs';

export interface Arena {
  readonly work: AttentionWork;
  readonly inputs: AttentionInputs;
  readonly tensors: HeadTensors;
  /** For each contestant that can have more than one. */
  readonly threads: number;
  readonly check: Check;
  dispose(): void;
}

/** What brings contestants of one peer: at least one, or says why not. */
export type Enter = (arena: Arena) => Promise<readonly Entry[]>;

/** Outputs are checked against doubles, gradients against those that tfjs derives from plain operations. */
export function openArena(work: AttentionWork, threads: number): Arena {
  const inputs = inputsOf(work);
  const tensors = tensorsOf(work, inputs);
  return {
    work,
    inputs,
    tensors,
    threads,
    check: work.gradients ? againstNumbers(tfjsGradients(work, tensors)) : againstDoubles(work, inputs),
    dispose: () => tf.dispose(Object.values(tensors)),
  };
}

function tfjsGradients({ queries, causal }: AttentionWork, tensors: HeadTensors): Float32Array[] {
  return tf.tidy(() => {
    const bias = causal ? causalBias(queries) : undefined;
    const gradients = gradientsOf((query, key, value) => tunedHeads({ query, key, value }, bias), tensors);
    return gradients.map((gradient) => gradient.dataSync<'float32'>());
  });
}

interface ArenaContest extends Omit<Contest, 'enter'> {
  readonly attention: AttentionWork;
  readonly contestants: readonly Enter[];
}

/** A contest whose contestants all compute the same. */
export function arenaContest({ attention, contestants, ...contest }: ArenaContest): Contest {
  return {
    ...contest,
    async enter(threads) {
      const arena = openArena(attention, threads);
      const entries: Entry[] = [];
      for (const enter of contestants) entries.push(...(await enter(arena)));
      return { entries, dispose: arena.dispose };
    },
  };
}
