// `npx pnpm readme` measures anew and writes what the README shows; `npx pnpm readme --keep` writes it from the last measurement.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { processOutlet } from '../command-line/outlet';
import { type Measured, measure } from './measured';
import { pictureOf, withParts } from './readme-parts';

const file = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const record = file('docs/images/measured.json');

/** Lists of numbers or words stay on one line. */
const asText = (value: object) =>
  `${JSON.stringify(value, null, 2).replace(/\[([^[\]{}]*)\]/g, (list) => list.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'))}\n`;

printUncaughtErrors();
if (!process.argv.includes('--keep')) {
  const { progress } = processOutlet(process);
  writeFileSync(record, asText(await measure({ progress })));
  progress.clear();
}
const measured: Measured = JSON.parse(readFileSync(record, 'utf8'));
writeFileSync(file('docs/images/head.svg'), pictureOf(measured.picture));
const [readme, performance] = [file('README.md'), file('docs/performance.md')].map((path) =>
  readFileSync(path, 'utf8'),
);
writeFileSync(file('README.md'), withParts(readme!, measured, performance!));
