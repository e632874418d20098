import { expect, it } from 'vitest';
import { holdContest } from './contest';
import type { Contestant } from './contestant';

function watched(op: string, error: () => number) {
  const seen = { turns: 0, disposed: 0 };
  const contestant: Contestant = {
    peer: 'peer',
    op,
    turn: async () => {
      seen.turns++;
      return { ms: seen.turns, cpuMs: seen.turns };
    },
    error: async () => error(),
    dispose: () => {
      seen.disposed++;
    },
  };
  return { contestant, seen };
}

it('times who is right, and leaves nobody behind', async () => {
  const right = watched('right', () => 1e-6);
  const wrong = watched('wrong', () => 1e-4);
  const notANumber = watched('not a number', () => Number.NaN);
  const failing = watched('failing', () => {
    throw new Error('size overflow\nat some place');
  });
  const all = [right, wrong, notANumber, failing];
  let shared = 1;
  const outcome = await holdContest(
    {
      work: 'work',
      runs: 3,
      gates: [],
      enter: async () => ({
        entries: [...all.map(({ contestant }) => contestant), { peer: 'other', reason: 'not there' }],
        dispose: () => {
          shared--;
        },
      }),
    },
    { runs: 3, threads: 1 },
  );
  // The first turn is not counted.
  expect(outcome.timings.map(({ contestant, turns }) => [contestant.op, turns.map(({ ms }) => ms)])).toEqual([
    ['right', [2, 3, 4]],
  ]);
  expect(outcome.wrong).toEqual([
    { contestant: wrong.contestant, error: 1e-4 },
    { contestant: notANumber.contestant, error: Number.NaN },
  ]);
  expect(outcome.absences).toEqual([
    { peer: 'other', reason: 'not there' },
    { peer: 'peer', op: 'failing', reason: 'it fails: size overflow' },
  ]);
  expect(all.map(({ seen }) => seen.turns)).toEqual([4, 0, 0, 0]);
  expect(all.map(({ seen }) => seen.disposed)).toEqual([1, 1, 1, 1]);
  expect(shared).toBe(0);
});
