import { expect, it } from 'vitest';
import { barOf } from './time-left';

it('tells the time that is gone, and the time left by what the parts before took', () => {
  let now = 0;
  const bar = barOf([1, 1, 2], () => now);
  expect(bar.text(0, 0, 'first')).toBe('░░░░░░░░░░░░░░░░░░░░ 1/3, 0:00 gone: first');
  now = 30_000;
  expect(bar.text(1, 0, 'second')).toBe('█████░░░░░░░░░░░░░░░ 2/3, 0:30 gone, about 1:30 left: second');
  now = 90_000;
  expect(bar.text(2, 0.5, 'third')).toBe('███████████████░░░░░ 3/3, 1:30 gone, about 0:30 left: third');
});

it('does not count what was done before', () => {
  let now = 0;
  const bar = barOf([1, 1, 2], () => now);
  bar.skip(0);
  now = 10_000;
  expect(bar.text(1, 0.5, 'second')).toContain('0:10 gone, about 0:50 left');
});
