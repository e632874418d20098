// `bench heads`: what the heads of a model do, and which mean something.
import { Command, Option } from 'commander';
import { encoderName } from '../attention/choose-reader';
import { type BackendName, backendNames } from '../backends/backend-name';
import { listOf } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import { writablePaths } from '../command-line/user-path';

interface HeadsFlags {
  readonly only?: readonly string[];
  readonly backend?: BackendName;
  readonly json?: string;
  readonly svg?: string;
}

export function headsCommand(outlet: Outlet): Command {
  return new Command('heads')
    .description('what the heads of a model do: which mean something, and which mean nothing')
    .argument(
      '[model]',
      `${encoderName}, moby-dick, smollm2 (npx pnpm model:install smollm2), or the path of a decoder`,
      encoderName,
    )
    .addOption(
      new Option('--only <sections>', 'only these, by their names in the JSON').argParser(
        listOf((name) => name),
      ),
    )
    .option('--json <file>', 'also write the numbers of all heads to a file')
    .option('--svg <file>', 'also write pictures of them, in one')
    .addOption(
      new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
        backendNames,
      ),
    )
    .action(async (model: string, { json, svg, ...rest }: HeadsFlags) => {
      const files = writablePaths({ json, svg });
      const { runHeads } = await import('./run-heads');
      await runHeads({ model, ...rest, ...files }, outlet);
    });
}
