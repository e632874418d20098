// The page of claims: written by `bench claims --write`, and read again by its test.
import type { Theme } from './all-claims';
import type { Claim, Finding, Verdict } from './claim';

export interface Ran extends Finding {
  readonly time?: string;
}

export const pagePath = 'docs/guide/usual-texts.md';

const begin = '<!-- claims, written by `npx pnpm bench claims --write` -->';
const end = '<!-- end of claims -->';
const timed = '_Time, on one machine:_ ';
const words: Readonly<Record<Verdict, string>> = {
  true: '**True.**',
  false: '**False.**',
  depends: '**It depends.**',
};

/** @throws where the page has no place for claims, or a claim has not run */
export function withClaims(page: string, themes: readonly Theme[], ran: ReadonlyMap<number, Ran>): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${pagePath} must hold ${begin} and ${end}`);
  const parts = themes.flatMap(({ title, file, claims }) => [
    `## ${title}`,
    `Runs: [apps/bench/src/claims/${file}](../../apps/bench/src/claims/${file}).`,
    ...[...claims].sort((a, b) => a.number - b.number).map((claim) => claimText(claim, ran)),
  ]);
  return `${before}${begin}\n\n${tally(themes, ran)}\n\n${parts.join('\n\n')}\n\n${end}${after}`;
}

function claimText({ number, says }: Claim, ran: ReadonlyMap<number, Ran>): string {
  const result = ran.get(number);
  if (!result) throw new Error(`claim ${number} has not run`);
  const { verdict, answer, time } = result;
  return `**${number}. ${says}**\n\n${words[verdict]} ${answer}${time ? ` ${timed}${time}` : ''}`;
}

function tally(themes: readonly Theme[], ran: ReadonlyMap<number, Ran>): string {
  const all = themes.flatMap(({ claims }) => claims.map(({ number }) => ran.get(number)?.verdict));
  const count = (verdict: Verdict) => all.filter((one) => one === verdict).length;
  return `Of ${all.length} claims ${count('true')} are true, ${count('false')} are false, and ${count('depends')} depend on what is meant.`;
}

/** What the page says of a claim. */
export function readClaim(page: string, number: number): Ran | undefined {
  const [, text] = page.split(`\n**${number}. `);
  const paragraph = text?.split('\n\n')[1];
  const verdict = (Object.keys(words) as Verdict[]).find((key) => paragraph?.startsWith(words[key]));
  if (!paragraph || !verdict) return undefined;
  const [answer, time] = paragraph.slice(words[verdict].length + 1).split(` ${timed}`);
  return { verdict, answer: answer!, ...(time !== undefined && { time }) };
}

const numbers = /-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?: %)?/g;

/**
 * How two texts differ; empty where words and counts are equal, and measured numbers are as near as a share says. Without one that
 * is 0.02, and not more than one of the last digit.
 */
export function differences(kept: string, now: string, within?: number): string[] {
  const [words, others] = [kept, now].map((text) => text.replace(numbers, '#'));
  if (words !== others) return [`words differ:\n${kept}\n${now}`];
  const [before, after] = [kept, now].map((text): string[] => text.match(numbers) ?? []) as [
    string[],
    string[],
  ];
  return before.flatMap((text, n) => {
    const [a, b] = [text, after[n]!].map((x) => Number(x.replaceAll(/[, %]/g, ''))) as [number, number];
    const isCount = !/[.%]/.test(text);
    const [, decimals = ''] = /\.(\d+)/.exec(text) ?? [];
    const size = Math.max(Math.abs(a), Math.abs(b));
    const measured =
      within === undefined ? Math.min(1.001 * 10 ** -decimals.length, 0.02 * size) : within * size;
    const near = isCount ? 0 : measured;
    return Math.abs(a - b) <= near ? [] : [`${text} is ${after[n]} now`];
  });
}
