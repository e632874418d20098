// The README and its picture say what was measured, and the picture what the encoder sees.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Measured, takePicture } from './measured';
import { pictureOf, withParts } from './readme-parts';

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8');
const measured: Measured = JSON.parse(read('docs/images/measured.json'));

it('the README holds the numbers that were measured', () => {
  const readme = read('README.md');
  expect(withParts(readme, measured)).toBe(readme); // npx pnpm readme --keep
});

it('its picture is drawn from the weights that were read', () => {
  expect(read('docs/images/head.svg')).toBe(pictureOf(measured.picture));
});

it('the weights are those of the published encoder', async () => {
  const { weights, ...now } = await takePicture();
  const { weights: kept, ...then } = measured.picture;
  expect(now).toEqual(then);
  const differences = weights.flatMap((row, i) => row.map((weight, j) => Math.abs(weight - kept[i]![j]!)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(2e-4); // both have four digits
});

it('what has no place in a README is refused', () => {
  expect(() => withParts('# Title', measured)).toThrow('README.md must hold 2 times');
  expect(() => withParts(read('README.md').replaceAll('<!-- end of measured -->', ''), measured)).toThrow(
    'after each',
  );
});
