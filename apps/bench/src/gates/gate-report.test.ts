import { expect, it } from 'vitest';
import { absenceLines, busyLines, contestLines, legendLines } from './gate-report';
import type { GateRow } from './gate-rows';

const row: GateRow = {
  work: 'causal prefill',
  ours: { peer: 'Polyhead', op: 'flash', kernel: 'flashWasm', median: 96.4, best: 0.5 },
  against: { peer: 'web', version: '1.30.0', op: 'Attention', median: 386, best: 5.25 },
  measure: 'speed',
  ratio: 4.004,
  cpuRatio: 3.9,
  bound: 3.5,
  aim: 4,
  aimReached: true,
  verdict: 'holds',
};
const { ratio: _, cpuRatio: __, aimReached: ___, ...unmeasured } = row;

it('says what each contest found', () => {
  const skipped: GateRow = { ...unmeasured, against: { peer: 'PyTorch' }, verdict: 'skipped' };
  const { aim, aimReached, ...noAim } = row;
  const stoodIn: GateRow = {
    ...noAim,
    ours: { ...row.ours, kernel: 'composed' },
    against: { peer: 'Polyhead', op: 'composed', median: 386, best: 380 },
    measure: 'time',
    ratio: 2,
    verdict: 'missed',
  };
  expect(contestLines([row, skipped, stoodIn], 9, 132)).toEqual([
    'causal prefill: median (best) of 9 runs in turn',
    'ours                  against            ours ms      its ms  ratio    CPU  bound (aim)',
    'flash                 web: Attention  96 (0.500)  386 (5.25)    4 ×  3.9 ×  ≥ 3.5 × (4 ×)  aim reached',
    'flash                 PyTorch         96 (0.500)                            ≥ 3.5 × (4 ×)  skipped',
    'flash (composed ran)  composed        96 (0.500)   386 (380)    2 ×  3.9 ×  ≤ 3.5 ×        missed',
  ]);
});

it('repeats who is compared where a terminal is narrow', () => {
  const lines = contestLines([row], 9, 60);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(lines.filter((line) => line.startsWith('flash  web: Attention')).length).toBeGreaterThan(1);
});

it('names versions and reasons once', () => {
  expect(legendLines([row, row]).at(-1)).toBe('against web 1.30.0');
  const absence = { peer: 'jax-js', reason: 'it needs Node 22' };
  expect(absenceLines([absence, absence, { ...absence, op: 'grad' }])).toEqual([
    'absent: jax-js: it needs Node 22',
    'absent: jax-js, grad: it needs Node 22',
  ]);
});

it('says where the machine was busy with something else', () => {
  const outcome = (cpuMs: number) => ({
    timings: [
      {
        contestant: { peer: 'web', op: 'Attention', turn: async () => ({ ms: 1, cpuMs: 1 }), dispose() {} },
        turns: [
          { ms: 10, cpuMs },
          { ms: 30, cpuMs: 3 * cpuMs },
        ],
      },
    ],
    wrong: [],
    absences: [],
  });
  expect(busyLines(outcome(9.9))).toEqual([]);
  expect(busyLines(outcome(8))).toEqual([
    'the machine was busy: 80 % of a processor was had, so the ratios of CPU say more',
  ]);
  expect(busyLines({ timings: [], wrong: [], absences: [] })).toEqual([]);
});
