// The commands of the matrix: `bench full`, `bench compare A.json B.json` and `bench head-count`.
import { Command, InvalidArgumentError, Option } from 'commander';
import { type BackendName, backendNames } from '../backends/backend-name';
import { UsageError, WrongResultError } from '../command-line/errors';
import { wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import { writablePath } from '../command-line/user-path';

interface FullFlags {
  readonly backend?: BackendName;
  readonly fresh?: boolean;
  readonly json: string;
}

interface HeadCountFlags {
  readonly backend?: BackendName;
  readonly quick?: boolean;
  readonly width: number;
  readonly tokens: number;
  readonly json?: string;
}

const backendOption = () =>
  new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
    backendNames,
  );

export function fullCommand(outlet: Outlet): Command {
  return new Command('full')
    .description('each axis of the matrix alone, and chosen pairs: under half an hour, in pieces if you like')
    .addOption(backendOption())
    .option('--fresh', 'measure all anew, whatever an earlier run has kept')
    .option('--json <file>', 'where the numbers are kept', 'bench-full.json')
    .action(async ({ fresh = false, json, ...rest }: FullFlags) => {
      const { pageBeside, runFull } = await import('./full');
      const path = writablePath(json);
      writablePath(pageBeside(path)); // in half an hour it would be late
      await runFull({ fresh, json: path, ...rest }, outlet);
    });
}

export function compareCommand(outlet: Outlet): Command {
  return new Command('compare')
    .description('what became slower, or wrong, from one result to another; ends with 1 where anything did')
    .argument('<before>', 'a file that bench --json has written')
    .argument('<after>', 'another')
    .addOption(
      new Option('--bound <percent>', 'by how much a cell may become slower')
        .argParser(percentage)
        .default(10),
    )
    .action(async (before: string, after: string, { bound }: { readonly bound: number }) => {
      const [{ changeLines, compareResults, differenceLines }, { readResult }] = await Promise.all([
        import('./compare-results'),
        import('./read-result'),
      ]);
      const [first, second] = [readResult(before), readResult(after)];
      const comparison = compareResults(first, second, bound / 100);
      if (comparison.compared === 0)
        throw new UsageError(`${before} and ${after} have no cell in common: there is nothing to compare`);
      const { width } = outlet.terminal;
      outlet.print([
        ...differenceLines(first, second),
        ...changeLines(comparison, { bound: bound / 100, width }),
      ]);
      const { slower, lost } = comparison;
      const faults = [
        [slower.length, `slower by more than ${bound} %`],
        [lost.filter(({ why }) => why === 'wrong').length, 'wrong now'],
      ] as const;
      const words = faults.flatMap(([n, what]) =>
        n > 0 ? [`${n} ${n === 1 ? 'cell is' : 'cells are'} ${what}`] : [],
      );
      if (words.length > 0) throw new WrongResultError(words.join(', '));
    });
}

export function headCountCommand(outlet: Outlet): Command {
  const size = (flags: string, description: string, from: number, to: number) =>
    new Option(flags, description).argParser(wholeNumber(from, to));
  return new Command('head-count')
    .description('the same width in 1 to 64 heads: parameters, operations and time')
    .addOption(size('--width <n>', 'of the layer', 2, 2048).default(512))
    .addOption(size('--tokens <n>', 'of a prompt, and before a decoded token', 2, 4096).default(512))
    .addOption(backendOption())
    .option('--quick', 'fewer calls')
    .option('--json <file>', 'also write the numbers to a file')
    .action(async ({ quick = false, json, ...rest }: HeadCountFlags) => {
      const path = json === undefined ? undefined : writablePath(json);
      const { countHeads } = await import('./head-count');
      await countHeads({ quick, ...rest, ...(path !== undefined && { json: path }) }, outlet);
    });
}

function percentage(text: string): number {
  const number = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 0) return number;
  throw new InvalidArgumentError('Allowed are percentages from 0 on, such as 10 or 2.5.');
}
