// The command line: `bench`, and `bench attention TEXT`.
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { type BackendName, backendNames } from './backend-name';
import { UsageError, WrongResultError } from './errors';
import type { Outlet } from './outlet';

/** Runs it and gives the exit code: 0, 1 for a wrong result or a defect, 2 for a wrong command line. */
export async function runCommandLine(args: readonly string[], outlet: Outlet): Promise<number> {
  try {
    await createProgram(outlet).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has printed its message
    outlet.progress.clear();
    if (error instanceof UsageError || error instanceof WrongResultError) {
      outlet.printError(`bench: ${error.message}`);
      return error instanceof UsageError ? 2 : 1;
    }
    outlet.printError((error instanceof Error && error.stack) || String(error));
    return 1;
  }
}

interface BenchFlags {
  readonly backend?: BackendName;
  readonly quick?: boolean;
  readonly json?: string;
}

interface AttentionFlags {
  readonly backend?: BackendName;
  readonly layer: string;
}

// The jobs are imported when they run: help and mistakes answer before TensorFlow.js is loaded.
function createProgram(outlet: Outlet): Command {
  const program = new Command('bench')
    .description('Attention of a published model reproduced, drawn and timed.')
    .addOption(backendOption())
    .option('--quick', 'fewer sentences and lengths, for continuous integration')
    .option('--json <file>', 'also write the numbers to a file')
    .enablePositionalOptions()
    .showHelpAfterError()
    .configureOutput({
      writeOut: (text) => outlet.print(text.trimEnd().split('\n')),
      writeErr: outlet.printError,
    })
    .exitOverride()
    .action(async ({ quick = false, json, ...rest }: BenchFlags) => {
      const file = json === undefined ? {} : { json: writablePath(json) };
      const { bench } = await import('./bench');
      await bench({ quick, ...file, ...rest }, outlet);
    });
  program
    .command('attention')
    .description('draw what the four heads of a layer see in any sentence')
    .argument('<text>', 'up to 128 tokens of English, about 90 words')
    .addOption(new Option('--layer <number>', 'which of the two layers').choices(['1', '2']).default('2'))
    .addOption(backendOption())
    .action(async (text: string, { layer, ...rest }: AttentionFlags) => {
      const misplaced = Object.keys(program.opts());
      if (misplaced.length > 0)
        throw new UsageError(`--${misplaced[0]} goes after attention, if it takes it at all`);
      const { drawAttention } = await import('./draw-attention');
      await drawAttention({ text, layer: Number(layer), ...rest }, outlet);
    });
  program
    .command('gates')
    .description('the speeds that Polyhead promises on wasm, as ratios to peers in one interleaved run')
    .action(async () => {
      const { runGates } = await import('./gates');
      await runGates(outlet);
    });
  return program;
}

const backendOption = () =>
  new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
    backendNames,
  );

/** Paths are meant from where the user stands, which a package manager may have left. */
function writablePath(file: string): string {
  const path = resolve(process.env.INIT_CWD ?? '', file);
  if (!existsSync(dirname(path))) throw new UsageError(`--json: there is no folder ${dirname(path)}`);
  if (existsSync(path) && statSync(path).isDirectory()) throw new UsageError(`--json: ${path} is a folder`);
  return path;
}
