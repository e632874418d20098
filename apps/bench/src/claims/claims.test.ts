// What the page says of each claim is what a run finds: the verdict, the words, counts, and measured numbers as near as the claim says.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { themes } from './all-claims';
import { runClaim } from './claim';
import { differences, pagePath, readClaim, withClaims } from './page';

const page = readFileSync(fileURLToPath(new URL(`../../../../${pagePath}`, import.meta.url)), 'utf8');
const claims = themes.flatMap((theme) => theme.claims);

describe(`${pagePath} says what is found`, () => {
  const rows = [...claims]
    .sort((a, b) => a.number - b.number)
    .map((claim) => [claim.number, claim.says, claim] as const);
  it.each(rows)('%d. %s', async (_, __, claim) => {
    const before = tf.memory().numTensors;
    const { verdict, answer } = await runClaim(claim);
    expect(tf.memory().numTensors).toBe(before);
    const kept = readClaim(page, claim.number);
    expect(verdict).toBe(kept?.verdict);
    expect(differences(kept!.answer, answer, claim.within)).toEqual([]);
    expect(kept!.time === undefined).toBe(claim.time === undefined);
  });

  it('each once, and nothing by hand', () => {
    expect(new Set(claims.map(({ number }) => number)).size).toBe(claims.length);
    const kept = new Map(claims.map(({ number }) => [number, readClaim(page, number)!] as const));
    expect(withClaims(page, themes, kept)).toBe(page);
  });
});

describe('two texts', () => {
  it.each([
    ['2 heads learn 98 %.', '2 heads learn 97 %.', 0],
    ['2 heads learn 98 %.', '2 heads learn 60 %.', 1],
    ['2 heads learn 31 %.', '2 heads learn 32 %.', 1],
    ['12,288 wide', '12,289 wide', 1],
    ['a variance of 16.5', 'a variance of 16.4', 0],
    ['a variance of 16.5', 'a variance of 16.1', 1],
    ['within 1e-5', 'within 1e-4', 1],
    ['2 heads', 'two heads', 1],
  ])('%s and %s', (kept, now, count) => {
    expect(differences(kept, now)).toHaveLength(count);
  });
});
