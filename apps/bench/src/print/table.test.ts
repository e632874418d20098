import { expect, it } from 'vitest';
import { alignColumns, alignWithin } from './table';

it('aligns columns, numbers to the right, and leaves no space at the ends', () => {
  const rows = [
    ['layer', 'ms'],
    ['a', '9'],
    ['wide one', '10.5'],
  ];
  expect(alignColumns(rows, [1])).toEqual(['layer       ms', 'a            9', 'wide one  10.5']);
});

it('makes several tables where one is too wide, the first columns in each', () => {
  const rows = [
    ['what', 'one', 'two', 'three'],
    ['a', '1', '2', '3'],
  ];
  const right = [1, 2, 3];
  expect(alignWithin(21, rows, { right })).toEqual(alignColumns(rows, right));
  expect(alignWithin(20, rows, { right })).toEqual([
    'what  one  two',
    'a       1    2',
    '',
    'what  three',
    'a         3',
  ]);
  expect(alignWithin(1, rows, { right, kept: 2 })).toEqual([
    'what  one  two',
    'a       1    2',
    '',
    'what  one  three',
    'a       1      3',
  ]);
});
