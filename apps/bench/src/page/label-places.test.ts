import { expect, it } from 'vitest';
import { apart } from './label-places';

const range = { gap: 10, from: 0, to: 100 };

it('leaves labels alone that do not touch', () => {
  expect(apart([50, 10, 90], range)).toEqual([50, 10, 90]);
});

it('moves those that touch as little as it can, in their order', () => {
  expect(apart([50, 52], range)).toEqual([46, 56]);
  expect(apart([52, 50, 80], range)).toEqual([56, 46, 80]);
});

it('stays within the range', () => {
  expect(apart([98, 99, 100], range)).toEqual([80, 90, 100]);
  expect(apart([-5, 0], range)).toEqual([0, 10]);
});
