import { expect, it } from 'vitest';
import { byteSize, listOf, oneOf, wholeNumber } from './option-values';

it('takes one of a few', () => {
  expect(oneOf([1, 4])('4')).toBe(4);
  for (const wrong of ['2', '', '4.0', ' 4'])
    expect(() => oneOf([1, 4])(wrong)).toThrow('Allowed choices are 1, 4.');
});

it('takes whole numbers in plain digits', () => {
  const parse = wholeNumber(1, 4096);
  expect(['1', '0007', '4096'].map(parse)).toEqual([1, 7, 4096]);
  for (const wrong of ['0', '4097', '-1', '1.5', '1e3', '0x10', '', ' 1', '٣', '9'.repeat(400)]) {
    expect(() => parse(wrong), wrong).toThrow('Allowed are whole numbers from 1 to 4,096.');
  }
});

it('takes sizes with a unit', () => {
  expect(byteSize(' 8GB')).toEqual({ text: '8GB', bytes: 8e9 });
  expect(() => byteSize('8')).toThrow('8GB');
});

it('takes several, each once', () => {
  const parse = listOf(oneOf(['a', 'b', 'c']));
  expect(parse('c, a', parse('a'))).toEqual(['a', 'c']);
  expect(() => parse('a,')).toThrow('Allowed choices are a, b, c.');
});
