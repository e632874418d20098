// The README and its picture say what was measured, and the picture what the encoder sees.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Measured, takePicture } from './measured';
import { pictureOf, withParts } from './readme-parts';

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8');
const performance = read('docs/performance.md');
const measured: Measured = JSON.parse(read('docs/images/measured.json'));

it('the README holds the numbers that were measured', () => {
  const readme = read('README.md');
  expect(withParts(readme, measured, performance)).toBe(readme); // npx pnpm readme --keep
});

it.each(['kernel', 'heads', 'storage'] as const)('what was measured agrees with itself: %s', (choice) => {
  const { [choice]: contrast, batch } = measured.brought;
  const { from, to, speedUp } = contrast!;
  expect(speedUp).toBeCloseTo(from.milliseconds / to.milliseconds, 9);
  for (const { milliseconds, tokensPerSecond } of [from, to])
    expect(tokensPerSecond).toBeCloseTo((1000 * batch) / milliseconds, 9);
});

it('ratios of docs/performance.md, which the README says, are those of the times beside them', () => {
  const time = String.raw`([\d.]+) \([\d.]+\)`; // the median, and the best
  const rows = [...performance.matchAll(new RegExp(`${time} +${time} +([\\d.]+) (×|%|ms)`, 'g'))];
  expect(rows.length).toBeGreaterThan(50);
  for (const [row, ours, theirs, ratio, unit] of rows) {
    const [a, b, [least, most]] = [rounded(ours!), rounded(theirs!), rounded(ratio!)];
    const of = (over: Range, under: Range): Range => [over[0] / under[1], over[1] / under[0]];
    const share = unit === '%' ? 100 : 1;
    const could: Range[] = unit === 'ms' ? [[a[0] - b[1], a[1] - b[0]]] : [of(a, b), of(b, a)];
    expect([row, could.some(([from, to]) => share * from <= most && least <= share * to)]).toEqual([
      row,
      true,
    ]);
  }
});

type Range = readonly [from: number, to: number];

/** What may stand behind digits that were rounded. */
function rounded(text: string): Range {
  const half = 0.5001 * 10 ** -(text.split('.')[1]?.length ?? 0);
  return [Number(text) - half, Number(text) + half];
}

it('its picture is drawn from the weights that were read', () => {
  expect(read('docs/images/head.svg')).toBe(pictureOf(measured.picture));
});

it.each([
  ['that', 'whale'],
  ['was', 'ship'],
])('“%s” looks most at “%s”, as the README says', (from, to) => {
  const { tokens, weights } = measured.picture;
  const row = weights[tokens.indexOf(from)]!;
  const piece = tokens[row.indexOf(Math.max(...row))]!;
  expect(to.startsWith(piece)).toBe(true);
  expect(read('README.md').replace(/\s+/g, ' ')).toMatch(new RegExp(`“${from}” (looks )?at “${to}”`));
});

it('the weights are those of the published encoder', async () => {
  const { weights, ...now } = await takePicture();
  const { weights: kept, ...then } = measured.picture;
  expect(now).toEqual(then);
  const differences = weights.flatMap((row, i) => row.map((weight, j) => Math.abs(weight - kept[i]![j]!)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(2e-4); // both have four digits
});

it('what has no place in a README is refused', () => {
  const readme = read('README.md');
  const written = (text: string) => () => withParts(text, measured, performance);
  expect(written('# Title')).toThrow('must have a point “Fast.”');
  expect(written(readme.replaceAll('<!-- measured', '<!--'))).toThrow('README.md must hold 2 times');
  expect(written(readme.replaceAll('<!-- end of measured -->', ''))).toThrow('after each');
  expect(() => withParts(readme, measured, '')).toThrow('docs/performance.md must hold');
});
