import { expect, it } from 'vitest';
import { formatBytes, parseBytes } from './byte-size';

it.each([
  [0, '0 bytes'],
  [1023, '1,023 bytes'],
  [1024, '1 KiB'],
  [1536, '1.50 KiB'],
  [33_554_432, '32 MiB'],
  [100 * 2 ** 20 + 2 ** 19, '101 MiB'],
  [4.2e25, '36,429,193 EiB'],
])('writes %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it.each([
  ['8GB', 8e9],
  ['512 MiB', 2 ** 29],
  [' 1.5gib ', 1.5 * 2 ** 30],
  ['2tb', 2e12],
])('reads %j', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

it.each(['', '8', '8G', 'GB', '-1GB', '1e3GB', '8 apples', '8GBs', 'NaN GB', '0x8GB'])(
  'takes %j for no size',
  (text) => {
    expect(parseBytes(text)).toBeUndefined();
  },
);
