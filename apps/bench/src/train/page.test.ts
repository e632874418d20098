import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readTrainResult } from './kept';
import { committedResult, pagePath, withResult } from './page';

const page = readFileSync(fileURLToPath(new URL(`../../../../${pagePath}`, import.meta.url)), 'utf8');

it(`has ${pagePath} say what the committed result holds`, () => {
  expect(withResult(page, readTrainResult(committedResult))).toBe(page);
});

it('says so where a page has no place for it', () => {
  expect(() => withResult('# Heads', readTrainResult(committedResult))).toThrow(pagePath);
});
