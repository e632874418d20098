import { describe, expect, it } from 'vitest';
import type { Contest, ContestResult, Timing } from './contest';
import type { Contestant } from './contestant';
import type { Gate } from './gate';
import { gateRows } from './gate-rows';

const contestant = (peer: string, op: string, kernel?: string): Contestant => ({
  peer,
  op,
  turn: async () => ({ ms: 1, cpuMs: 1 }),
  dispose() {},
  ...(kernel !== undefined && { ranBy: () => kernel }),
});

const timing = (who: Contestant, times: readonly number[], cpu = times): Timing => ({
  contestant: who,
  turns: times.map((ms, n) => ({ ms, cpuMs: cpu[n]! })),
});

const flash = timing(contestant('Polyhead', 'flash', 'flashWasm'), [10, 11, 30], [10, 10, 10]);
const web = timing(contestant('web', 'attention'), [50, 22, 33], [20, 20, 60]);
const gate: Gate = { ours: 'flash', peer: 'web', measure: 'speed', bound: 3, aim: 4 };

function rowsOf(gates: readonly Gate[], outcome: Partial<ContestResult>, bounded = true) {
  const contest: Contest = { work: 'work', runs: 3, gates, enter: async () => ({ entries: [] }) };
  return gateRows(contest, { timings: [], wrong: [], absences: [], ...outcome }, bounded);
}

describe('gateRows', () => {
  it('divides medians, of the clock and of the processor', () => {
    const [row] = rowsOf([gate], { timings: [flash, web] });
    expect(row).toEqual({
      work: 'work',
      ours: { peer: 'Polyhead', op: 'flash', kernel: 'flashWasm', median: 11, best: 10 },
      against: { peer: 'web', op: 'attention', median: 33, best: 22 },
      measure: 'speed',
      ratio: 3,
      cpuRatio: 2,
      bound: 3,
      aim: 4,
      aimReached: false,
      verdict: 'holds',
    });
  });

  it('says where a bound is missed', () => {
    const [row] = rowsOf([{ ...gate, bound: 3.1 }], { timings: [flash, web] });
    expect(row?.verdict).toBe('missed');
  });

  it('sets a bound for each operation of a peer, and shows the others without one', () => {
    const other = timing(contestant('web', 'other'), [55]);
    const third = timing(contestant('third', 'best'), [5.5]);
    const timings = [flash, web, other, third];
    const all = rowsOf([gate], { timings });
    expect(all.map(({ against, verdict }) => [against.op, verdict])).toEqual([
      ['attention', 'holds'],
      ['other', 'holds'],
      ['best', 'no bound'],
    ]);
    expect(all[2]?.ratio).toBe(0.5); // a loss is shown
    const named = rowsOf([{ ...gate, ops: ['other'] }], { timings });
    expect(named.map(({ against, verdict }) => [against.op, verdict])).toEqual([
      ['other', 'holds'],
      ['attention', 'no bound'],
      ['best', 'no bound'],
    ]);
  });

  it('keeps a row for who is absent or wrong', () => {
    const absences = [{ peer: 'web', reason: 'not installed' }];
    expect(rowsOf([gate], { timings: [flash], absences })).toMatchObject([
      { verdict: 'skipped', against: { peer: 'web' }, bound: 3 },
    ]);
    const wrong = [{ contestant: web.contestant, error: 1 }];
    const [row] = rowsOf([gate], { timings: [flash], wrong });
    expect(row).toMatchObject({ verdict: 'wrong', against: { peer: 'web', op: 'attention' } });
    expect(row).not.toHaveProperty('ratio');
    expect(rowsOf([gate], { timings: [web] })).toMatchObject([{ verdict: 'absent' }]);
    const ours = [{ contestant: flash.contestant, error: 1 }];
    expect(rowsOf([gate], { timings: [web], wrong: ours })).toMatchObject([{ verdict: 'wrong' }]);
  });

  it('does not take what stood in for flash where flash must run', () => {
    const stoodIn = timing(contestant('Polyhead', 'flash', 'composed'), [1]);
    const verdictOf = (byFlash: boolean) =>
      rowsOf([{ ...gate, byFlash }], { timings: [stoodIn, web] })[0]?.verdict;
    expect(verdictOf(true)).toBe('missed');
    expect(verdictOf(false)).toBe('holds');
  });

  it('measures without bounds where they do not apply', () => {
    const [row] = rowsOf([gate], { timings: [flash, web] }, false);
    expect(row).toMatchObject({ ratio: 3, verdict: 'no bound' });
    expect(row).not.toHaveProperty('aim');
  });
});
