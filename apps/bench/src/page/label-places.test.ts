import { expect, it } from 'vitest';
import { apart } from './label-places';

const room = { gap: 10, from: 0, to: 100 };

it('leaves labels alone that do not touch', () => {
  expect(apart([50, 10, 90], room)).toEqual([50, 10, 90]);
});

it('moves those that touch as little as it can, in their order', () => {
  expect(apart([50, 52], room)).toEqual([46, 56]);
  expect(apart([52, 50, 80], room)).toEqual([56, 46, 80]);
});

it('stays within the room', () => {
  expect(apart([98, 99, 100], room)).toEqual([80, 90, 100]);
  expect(apart([-5, 0], room)).toEqual([0, 10]);
});
