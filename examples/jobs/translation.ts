// Translation: dates, from how people write them to how computers do, letter by letter. An encoder–decoder learns it from
// examples alone; its cross-attention shows which letters it reads for each that it writes.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svgHeadMaps, textHeadMaps } from '@polyhead/inspect';
import { createEncoderDecoder, crossMaps, examine, learnPairs } from './encoder-decoder';
import type { Results } from './results';
import { type Random, randomFrom, type Tell } from './train';

const months = 'January February March April May June July August September October November December'.split(
  ' ',
);
const longest = 18; // 'September 30, 1851'
const letters = ' ,-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const encode = (text: string) => [...text].map((letter) => letters.indexOf(letter) + 1);
const decode = (ids: readonly number[]) => ids.map((id) => letters[id - 1] ?? '').join('');

/** One of 36,000 dates, in one of two ways to say it. */
function drawDate(random: Random) {
  const [day, month, year] = [1 + random(30), random(12), 1800 + random(100)];
  const spoken = random(2) === 0 ? `${months[month]} ${day}, ${year}` : `${day} ${months[month]} ${year}`;
  const two = (n: number) => `${n}`.padStart(2, '0');
  const target = encode(`${year}-${two(month + 1)}-${two(day)}`);
  return { source: encode(spoken.padEnd(longest)), target, spoken };
}

/** @returns the share of held-out dates of which every letter is right, the first of them, and what the heads read in it */
export function translation({
  steps = 700,
  tell = () => {},
}: {
  readonly steps?: number;
  readonly tell?: Tell;
} = {}) {
  const model = createEncoderDecoder(letters.length + 1);
  const random = randomFrom(1);
  learnPairs(model, () => drawDate(random), { steps, peak: 0.006, tell });
  const unseen = randomFrom(2); // of 72,000 texts training draws 22,400
  const held = Array.from({ length: 200 }, () => drawDate(unseen));
  const { said, right } = examine(model, held);
  const { spoken, ...pair } = held[0]!;
  const heads = crossMaps(model, pair).map((head) => head.map((row) => row.slice(0, spoken.length)));
  model.dispose();
  return { right, spoken, said: decode(said[0]!), heads };
}

const picture = fileURLToPath(new URL('../../docs/guide/images/small-jobs.svg', import.meta.url));

/** Learns, says how well, draws what the heads read, and gives what is kept. */
export function show(tell: Tell): Partial<Results> {
  const { right, spoken, said, heads } = translation({ tell });
  tell(`${(100 * right).toFixed(1)} % of 200 dates that were held out are right: “${spoken}” is ${said}`);
  tell('What each head of the cross-attention reads, a row for each letter that is written:');
  const keys = [...spoken].map((letter) => (letter === ' ' ? '_' : letter));
  for (const line of textHeadMaps(heads, { queries: [...said], keys, width: 110 }).lines) tell(line);
  const title = `From “${spoken}” to ${said}`;
  writeFileSync(picture, svgHeadMaps(heads, { queries: [...said], keys, title, columns: 2, values: false }));
  return { translation: { right } };
}
