import { expect, it } from 'vitest';
import { alignColumns } from './table';

it('aligns columns, numbers to the right, and leaves no space at the ends', () => {
  const rows = [
    ['layer', 'ms'],
    ['a', '9'],
    ['wide one', '10.5'],
  ];
  expect(alignColumns(rows, [1])).toEqual(['layer       ms', 'a            9', 'wide one  10.5']);
});
