// The command line: `bench` and its commands, of which `bench --help` has the list.
import { availableParallelism } from 'node:os';
import { Command, CommanderError, Option } from 'commander';
import { attentionCommand } from '../attention/command';
import { registries } from '../axes/registries';
import { type BackendName, backendNames } from '../backends/backend-name';
import { claimsCommand } from '../claims/command';
import { batchSizes, type ComparisonChoice, tokenRange } from '../compare/cases';
import { headsCommand } from '../heads/command';
import { compareCommand, fullCommand, headCountCommand } from '../matrix/commands';
import { modelCommand } from '../model/command';
import { planCommand } from '../plan/command';
import { trainCommand } from '../train/command';
import { UsageError } from './errors';
import { printable } from './json-object';
import { listOf, oneOf, wholeNumber } from './option-values';
import type { Outlet } from './outlet';
import { writablePath, writablePaths } from './user-path';

/** Runs it and gives the exit code: 0, 1 for a wrong result or a defect, 2 for a wrong command line. */
export async function runCommandLine(args: readonly string[], outlet: Outlet): Promise<number> {
  try {
    await createProgram(outlet).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has printed its message
    outlet.progress.clear();
    const { name } = error as Partial<Error>; // a bundle has classes of its own
    if (error instanceof Error && (name === 'UsageError' || name === 'WrongResultError')) {
      const isUsage = name === 'UsageError';
      outlet.printError(`bench: ${isUsage ? printable(error.message) : error.message}`);
      return isUsage ? 2 : 1;
    }
    outlet.printError((error instanceof Error && error.stack) || String(error));
    return 1;
  }
}

interface BenchFlags extends ComparisonChoice {
  readonly backend?: BackendName;
  readonly quick?: boolean;
  readonly json?: string;
  readonly html?: string;
  readonly position?: readonly string[];
}

interface GateFlags {
  readonly only?: string;
  readonly quick?: boolean;
  readonly threads: number;
  readonly json?: string;
}

interface BackendsFlags {
  readonly quick?: boolean;
  readonly serve?: boolean;
  readonly json?: string;
}

// The jobs are imported when they run.
function createProgram(outlet: Outlet): Command {
  const program: Command = new Command('bench')
    .description('Attention of a published model reproduced, drawn and timed; variants and caches compared.')
    .addOption(backendOption())
    .option('--quick', 'fewer sentences and lengths, for continuous integration')
    .option('--json <file>', 'also write the numbers to a file')
    .option('--html <file>', 'also write a report, one page that fetches nothing')
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => outlet.print(text.trimEnd().split('\n')),
      writeErr: outlet.printError,
      outputError: (text, write) => write(usageLine(text)),
    })
    .exitOverride()
    .hook('preSubcommand', (_, subcommand) => refuseMisplaced(program, subcommand))
    .action(async (flags: BenchFlags) => {
      refuseUnknown(program);
      await runJob(flags, outlet);
    });
  addChoices(program);
  program.addCommand(attentionCommand(outlet).copyInheritedSettings(program));
  program.addCommand(headsCommand(outlet).copyInheritedSettings(program));
  program.addCommand(planCommand(outlet).copyInheritedSettings(program));
  program.addCommand(modelCommand(outlet, writablePath).copyInheritedSettings(program));
  program.addCommand(claimsCommand(outlet).copyInheritedSettings(program));
  program.addCommand(trainCommand(outlet, writablePath).copyInheritedSettings(program));
  for (const command of [fullCommand, compareCommand, headCountCommand]) {
    program.addCommand(command(outlet).copyInheritedSettings(program));
  }
  addBackends(program, outlet);
  addGates(program, outlet);
  return program.allowExcessArguments(); // to say which commands there are
}

async function runJob(flags: BenchFlags, outlet: Outlet): Promise<void> {
  const { quick = false, json, html, backend, position, ...choice } = flags;
  const shared = { quick, ...writablePaths({ json, html }), ...(backend && { backend }) };
  if (!position) {
    const { bench } = await import('../bench');
    return bench({ ...shared, choice }, outlet);
  }
  const [other] = Object.keys({ ...choice, ...(html !== undefined && { html }) });
  if (other) throw new UsageError(`--position is a comparison of its own, which does not take --${other}`);
  const { comparePositions } = await import('../positions/compare-positions');
  return comparePositions({ ...shared, names: position }, outlet);
}

/** Several values have commas between them. */
function addChoices(program: Command): void {
  const choice = <T>(flags: string, description: string, parse: (text: string) => T) =>
    program.addOption(new Option(flags, description).argParser(listOf(parse)));
  const among = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  program.optionsGroup('Compare only, and only these (several with commas between them):');
  const { layers, variants, caches, positions } = registries;
  const names = among(variants);
  choice('--variant <names>', `${names.join(', ')}; ${names[0]} is always there`, oneOf(names));
  choice('--cache <names>', among(caches).join(', '), oneOf(among(caches)));
  choice('--shape <names>', among(layers).join(', '), oneOf(among(layers)));
  const { from, to } = tokenRange;
  choice('--tokens <numbers>', `in the cache, ${from} to ${to}`, wholeNumber(from, to));
  choice('--batch <numbers>', batchSizes.join(', '), oneOf(batchSizes));
  program.optionsGroup('Compare position methods with none, and nothing else:');
  choice('--position <names>', among(positions).join(', '), oneOf(among(positions)));
}

function addBackends(program: Command, outlet: Outlet): void {
  program
    .command('backends')
    .description('which backends run here, in Node and in Chromium, and what a layer costs on each')
    .option('--quick', '64 tokens instead of 512, and fewer runs')
    .option('--serve', 'serve the page that measures any browser, on its graphics card')
    .option('--json <file>', 'also write the rows to a file')
    .action(async ({ quick = false, serve = false, json }: BackendsFlags) => {
      const { runBackends } = await import('../backends/run-backends');
      await runBackends({ quick, serve, ...(json !== undefined && { json: writablePath(json) }) }, outlet);
    });
}

function addGates(program: Command, outlet: Outlet): void {
  program
    .command('gates')
    .description('the speeds that Polyhead promises on wasm, as ratios to peers in one interleaved run')
    .option('--only <text>', 'only work whose name holds this text')
    .option('--quick', 'a third of the runs')
    .addOption(
      new Option('--threads <number>', 'of each that can have more than one; bounds are for 1')
        .argParser(wholeNumber(1, availableParallelism()))
        .default(1),
    )
    .option('--json <file>', 'also write the rows to a file')
    .action(async ({ quick = false, json, ...rest }: GateFlags) => {
      const { bundled } = await import('../gates/bundle');
      const program = new URL('../gates/run-gates.ts', import.meta.url);
      const file = await bundled(program, { withTfjs: false });
      const { runGates } = (await import(/* @vite-ignore */ file)) as typeof import('../gates/run-gates');
      await runGates({ quick, ...rest, ...(json !== undefined && { json: writablePath(json) }) }, outlet);
    });
}

/** A word that is no command would else be taken for nothing. */
function refuseUnknown({ args, commands }: Command): void {
  if (args.length === 0) return;
  const names = commands.map((command) => command.name());
  throw new UsageError(`there is no command ${args[0]}: there are ${names.join(', ')}`);
}

function refuseMisplaced(program: Command, subcommand: Command): void {
  const misplaced = Object.keys(program.opts())[0];
  if (misplaced === undefined) return;
  throw new UsageError(`--${misplaced} goes after ${subcommand.name()}, if it takes it at all`);
}

/** In one line, as all that the command line is answered with. */
const usageLine = (text: string) =>
  `bench: ${printable(
    text
      .trim()
      .replace(/^error: /, '')
      .replace(/\s*\n\s*/g, ' '),
  )} (bench --help says what there is)`;

const backendOption = () =>
  new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
    backendNames,
  );
