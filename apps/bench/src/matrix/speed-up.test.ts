import { expect, it } from 'vitest';
import { cellLike } from './fixtures/cell';
import { busyNote, ratioTo, timesAsLong } from './speed-up';

const slow = cellLike({ ms: 20, processorTime: 12 });
const fast = cellLike({ ms: 10, processorTime: 4 });

it('compares by the clock, and on a busy machine by processor time, marked', () => {
  expect(ratioTo(slow, fast)).toBe('2.00 ×');
  expect(timesAsLong(slow, fast)).toBe('0.50 ×');
  expect(ratioTo(slow, { ...fast, busy: true })).toBe('≈3.00 ×');
  const { processorTime: _, ...threads } = { ...fast, busy: true };
  expect(ratioTo(slow, threads)).toBe('≈2.00 ×');
});

it('says what the mark means where there is one', () => {
  expect(busyNote([slow, fast])).toEqual([]);
  expect(busyNote([slow, { ...fast, busy: true, processorShare: 0.304 }])[0]).toContain(
    '30 % of a processor',
  );
});
