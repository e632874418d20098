// `bench train`: which variant and which position method learns a text best.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { listOf, oneOf, wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import { candidateNames } from './candidates';
import { quick, usual } from './settings';

interface TrainFlags {
  readonly quick?: boolean;
  readonly only?: readonly string[];
  readonly steps?: number;
  readonly seeds?: number;
  readonly processes?: number;
  readonly speed?: boolean;
  readonly write?: boolean;
  readonly json?: string;
}

export function trainCommand(outlet: Outlet, writablePath: (file: string) => string): Command {
  return new Command('train')
    .description(
      'variants and position methods compared by training: one small decoder on Moby Dick, several seeds',
    )
    .option('--quick', `${quick.steps} steps and one seed, in a minute`)
    .option(
      '--only <names>',
      `${candidateNames.join(', ')}; the first is always there`,
      listOf(oneOf(candidateNames)),
    )
    .option('--steps <number>', `of each decoder; default: ${usual.steps}`, wholeNumber(10, 100_000))
    .option('--seeds <number>', `how many; default: ${usual.seeds}`, wholeNumber(1, 100))
    .option('--processes <number>', 'each trains a decoder at a time; default: 2', wholeNumber(1, 64))
    .option('--speed', 'only time steps of training')
    .option('--write', 'only write docs/guide/trained-decoders.md from apps/bench/results/train.json')
    .option('--json <file>', 'write the result there after each decoder; what it holds is gone on from')
    .action(async ({ quick: isQuick = false, speed = false, write, json, ...flags }: TrainFlags) => {
      if (write) return writePage();
      const { runTrain } = await import('./run-train');
      await runTrain(
        {
          ...(isQuick ? quick : usual),
          ...flags,
          quick: isQuick,
          speedOnly: speed,
          ...(json !== undefined && { json: writablePath(json) }),
        },
        outlet,
      );
    });
}

async function writePage(): Promise<void> {
  const [{ readTrainResult }, { committedResult, pagePath, pictureOf, picturePath, withResult }] =
    await Promise.all([import('./kept'), import('./page')]);
  const pathOf = (file: string) => fileURLToPath(new URL(`../../../../${file}`, import.meta.url));
  const result = readTrainResult(committedResult);
  writeFileSync(pathOf(pagePath), withResult(readFileSync(pathOf(pagePath), 'utf8'), result));
  writeFileSync(pathOf(picturePath), pictureOf(result));
}
