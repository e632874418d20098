// What an option of a call costs, or saves, beside the same call without it.
import { type AttendOptions, attend, causal, composed, slidingWindow } from '@polyhead/core';
import { alibi, shaw, t5 } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs-core';
import { type Arena, arenaContest, type Enter } from '../arena';
import { againstNumbers, type Check } from '../check';
import type { Contest } from '../contest';
import { kernelUnderTest, ours } from '../kernel-under-test';
import { attendContestant, polyhead, polyheadKernels } from '../peers/polyhead';
import { causalWork } from './prefill';

const seed = 1;
const plainFlash = { peer: polyhead, ops: [ours.flash] } as const;

const methods = {
  Shaw: ({ work }: Arena) => shaw({ headDim: work.headDim, valueTable: 'own', seed }),
  T5: ({ work }: Arena) => t5({ numHeads: work.heads, bidirectional: false, seed }),
  ALiBi: ({ work }: Arena) => alibi({ numHeads: work.heads }),
};

/** Flash with the tables of a position method. */
function flashWithTables(name: keyof typeof methods): Enter {
  return async (arena) => {
    const { queries, keys } = arena.work;
    const method = methods[name](arena);
    const relative = method.tables!(arena.tensors.query, [1 - queries, keys]);
    const dispose = () => {
      tf.dispose(Object.values(relative).map(({ table }) => table));
      method.dispose();
    };
    return [await flashWith(name, { options: { mask: causal(), relative }, dispose }, arena)];
  };
}

interface WithOptions {
  readonly options: AttendOptions;
  readonly dispose?: () => void;
}

/** Checked against `composed` with the same options. */
async function flashWith(name: string, { options, dispose }: WithOptions, arena: Arena) {
  const { tensors, threads } = arena;
  const kernel = await kernelUnderTest('flash', threads);
  const op = `${ours.flash}, ${name}`;
  const contestant = attendContestant({ op, kernel, tensors, options, check: asComposed(arena, options) });
  return {
    ...contestant,
    dispose() {
      contestant.dispose();
      dispose?.();
    },
  };
}

function asComposed({ tensors: { query, key, value } }: Arena, options: AttendOptions): Check {
  return (numbers) => {
    const expected = tf.tidy(() =>
      attend(composed(), { query, key, value }, options).output.dataSync<'float32'>(),
    );
    return againstNumbers([expected])(numbers);
  };
}

const positions = arenaContest({
  work: 'position methods, causal prefill, 8 heads, S 2048, D 64',
  attention: causalWork(2048),
  runs: 9,
  contestants: [
    polyheadKernels('flash'),
    flashWithTables('Shaw'),
    flashWithTables('T5'),
    flashWithTables('ALiBi'),
  ],
  gates: [
    { ours: `${ours.flash}, Shaw`, ...plainFlash, measure: 'time', bound: 1.6 },
    { ours: `${ours.flash}, T5`, ...plainFlash, measure: 'time', bound: 1.15 },
    { ours: `${ours.flash}, ALiBi`, ...plainFlash, measure: 'time', bound: 1.1 },
  ],
});

const window = arenaContest({
  work: 'window of 256, causal prefill, 8 heads, S 8192, D 64',
  attention: causalWork(8192),
  runs: 3,
  contestants: [
    polyheadKernels('flash'),
    async (arena) => [
      await flashWith('window 256', { options: { mask: slidingWindow({ left: 255, right: 0 }) } }, arena),
    ],
  ],
  gates: [{ ours: `${ours.flash}, window 256`, ...plainFlash, measure: 'time share', bound: 0.1 }],
});

export const optionContests: readonly Contest[] = [positions, window];
