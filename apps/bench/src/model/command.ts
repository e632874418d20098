// `bench model`: what a published model computes, how fast, in how much memory; and its answer.
import { Command, Option } from 'commander';
import { type BackendName, backendNames } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import { wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';

interface ModelFlags {
  readonly prompt?: string;
  readonly tokens: number;
  readonly quick?: boolean;
  readonly caches?: boolean;
  readonly backend?: BackendName;
  readonly json?: string;
}

/** @param writablePath the absolute path of a file that can be written */
export function modelCommand(outlet: Outlet, writablePath: (file: string) => string): Command {
  return new Command('model')
    .description('a model of a file: its numbers proven, its speed and bytes, and its answer to a prompt')
    .argument(
      '[model]',
      'moby-dick (in the repository), smollm2, annalog (npx pnpm model:install), or a path',
      'moby-dick',
    )
    .option('--prompt <text>', 'what to ask it')
    .addOption(
      new Option('--tokens <n>', 'the most new tokens of the answer')
        .argParser(wholeNumber(1, 4096))
        .default(64),
    )
    .option('--quick', 'fewer texts and tokens')
    .option('--caches', 'instead: what each kind of cache costs the model, in bytes and in divergence')
    .addOption(
      new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
        backendNames,
      ),
    )
    .option('--json <file>', 'also write the numbers to a file')
    .action(
      async (model: string, { json, prompt, backend, quick = false, caches = false, tokens }: ModelFlags) => {
        if (prompt === '') throw new UsageError('--prompt is empty');
        const { runModel } = await import('./run-model');
        const chosen = { ...(prompt !== undefined && { prompt }), ...(backend && { backend }) };
        await runModel(
          {
            model,
            tokens,
            quick,
            caches,
            ...chosen,
            ...(json !== undefined && { json: writablePath(json) }),
          },
          outlet,
        );
      },
    );
}
