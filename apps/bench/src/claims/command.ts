// `bench claims`: what lessons on attention say, and what is found when it is run.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { UsageError } from '../command-line/errors';
import { wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import type { Ran } from './page';

export function claimsCommand(outlet: Outlet): Command {
  const number = wholeNumber(1, 1000);
  return new Command('claims')
    .description('what lessons on attention say, run: true, false, or it depends, with numbers')
    .argument('[numbers...]', 'only these', (text: string, earlier: number[] | undefined) => [
      ...(earlier ?? []),
      number(text),
    ])
    .option('--write', 'also write them into docs/guide/usual-texts.md, where others stay')
    .action(
      async (numbers: readonly number[] | undefined, { write = false }: { readonly write?: boolean }) => {
        await runClaims({ numbers: numbers ?? [], write }, outlet);
      },
    );
}

interface Choice {
  readonly numbers: readonly number[];
  readonly write: boolean;
}

async function runClaims({ numbers, write }: Choice, { print, progress }: Outlet): Promise<void> {
  const [{ themes }, { runClaim, timeClaim }, { pagePath, readClaim, withClaims }, { chooseBackend }] =
    await Promise.all([
      import('./all-claims'),
      import('./claim'),
      import('./page'),
      import('../backends/backend'),
    ]);
  const all = themes.flatMap(({ claims }) => claims);
  const unknown = numbers.find((one) => !all.some(({ number }) => number === one));
  if (unknown !== undefined)
    throw new UsageError(`there is no claim ${unknown}: they go from 1 to ${all.length}`);
  const { name } = await chooseBackend();
  progress.stage(`running claims on ${name}`);
  const ran = new Map<number, Ran>();
  const chosen = numbers.length === 0 ? all : all.filter(({ number }) => numbers.includes(number));
  for (const claim of chosen) {
    const [result, time] = [await runClaim(claim), timeClaim(claim)];
    ran.set(claim.number, { ...result, ...(time !== undefined && { time }) });
    progress.advance(ran.size, chosen.length);
    print([
      `${claim.number}. ${claim.says}`,
      `   ${result.verdict}: ${result.answer}${time ? ` ${time}` : ''}`,
    ]);
  }
  if (!write) return;
  const path = fileURLToPath(new URL(`../../../../${pagePath}`, import.meta.url));
  const page = readFileSync(path, 'utf8');
  for (const { number } of all) {
    const kept = readClaim(page, number); // what was not chosen stays as it is
    if (kept && !ran.has(number)) ran.set(number, kept);
  }
  writeFileSync(path, withClaims(page, themes, ran));
}
