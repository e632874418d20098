import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readTrainResult } from './kept';
import { committedResult, pagePath, pictureOf, picturePath, withResult } from './page';
import { methodOf } from './settings';

const read = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../${file}`, import.meta.url)), 'utf8');

it(`has ${pagePath} say and show what the committed result holds`, () => {
  const [page, result] = [read(pagePath), readTrainResult(committedResult)];
  expect(withResult(page, result)).toBe(page);
  expect(read(picturePath)).toBe(pictureOf(result));
});

it('says how the committed result was made as this program would', () => {
  const { settings, method } = readTrainResult(committedResult);
  expect(method).toEqual(methodOf(settings));
});

it('says so where a page has no place for it', () => {
  expect(() => withResult('# Heads', readTrainResult(committedResult))).toThrow(pagePath);
});
