// Summaries, of both kinds that texts name. Extractive: what matters is copied, the rest left out. Abstractive: it is said
// shorter. A report has five sentences of three words; those of buying and selling matter, and become a name, a sign and a thing.
import { textHeadMaps } from '@polyhead/inspect';
import { createEncoderDecoder, crossMaps, examine, learnPairs } from './encoder-decoder';
import type { Results } from './results';
import { type Random, randomFrom, type Tell } from './train';

const names = 'Ann Ben Cleo Dan Eve Finn Gus Hal Ida Jon Kim Lou'.split(' ');
const things = 'apples bread cheese dates eggs figs grapes ham ink jam kale limes'.split(' ');
/** What matters, with the sign that stands for it. Two words for one sign: both mean the same. */
const deals: Readonly<Record<string, string>> = { buys: '+', gets: '+', sells: '−', gives: '−' };
const idle = ['likes', 'sees', 'paints', 'praises'];
const words = ['.', ...names, ...things, ...Object.keys(deals), ...idle, '+', '−'];
const encode = (text: readonly string[]) => text.map((word) => words.indexOf(word));
const sentences = 5;

/** A report with one to three sentences that matter. */
function drawReport(random: Random) {
  const pick = (list: readonly string[]) => list[random(list.length)]!;
  const matters = new Set(Array.from({ length: 3 }, () => random(sentences)));
  const report = Array.from({ length: sentences }, (_, n) => [
    pick(names),
    pick(matters.has(n) ? Object.keys(deals) : idle),
    pick(things),
  ]);
  const summary = report.flatMap(([name, verb, thing]) =>
    deals[verb!] ? [name!, deals[verb!]!, thing!] : [],
  );
  const filled = [...summary, ...Array<string>(10 - summary.length).fill('.')];
  return { source: encode(report.flat()), target: encode(filled), text: report.flat(), summary };
}

/** @returns the share of held-out reports whose summary is right to the last word, one of them, and what the heads read */
export function summaries({
  steps = 600,
  tell = () => {},
}: {
  readonly steps?: number;
  readonly tell?: Tell;
} = {}) {
  const model = createEncoderDecoder(words.length);
  const random = randomFrom(1);
  learnPairs(model, () => drawReport(random), { steps, peak: 0.006, tell });
  const unseen = randomFrom(2); // of more reports than anybody could draw
  const held = Array.from({ length: 200 }, () => drawReport(unseen));
  const { said, right } = examine(model, held);
  const first = held.findIndex(({ summary }) => summary.length === 6);
  const { text, summary, ...pair } = held[first]!;
  const heads = crossMaps(model, pair).map((head) => head.slice(0, summary.length));
  model.dispose();
  return { right, text, summary: said[first]!.slice(0, summary.length).map((id) => words[id]!), heads };
}

/** Learns, says how well, and gives what is kept. */
export function show(tell: Tell): Partial<Results> {
  const { right, text, summary, heads } = summaries({ tell });
  tell(`${(100 * right).toFixed(1)} % of 200 reports that were held out are summarised right:`);
  const sentence = (n: number) => text.slice(3 * n, 3 * n + 3).join(' ');
  tell(
    `“${Array.from({ length: sentences }, (_, n) => sentence(n)).join('. ')}.” becomes “${summary.join(' ')}”`,
  );
  tell('What each head of the cross-attention reads, a row for each word that is written:');
  for (const line of textHeadMaps(heads, { queries: summary, keys: text, width: 110 }).lines) tell(line);
  return { summaries: { right } };
}
