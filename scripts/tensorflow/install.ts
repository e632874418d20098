// `pnpm tensorflow:install` supplies the backend `tensorflow`: the package, TensorFlow's own library, and the addon between
// them. What is there already is left alone.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addonFile, findTensorFlow, tensorFlowFolder, unsupportedPlatform } from '../backends/tensorflow';
import { buildAddon, packageFolder } from './addon';
import { check } from './check';
import { type Kind, libraryFolder, provideLibrary } from './library';
import { missingTools, runTool, say, ToolError } from './tools';

const usage = `usage: pnpm tensorflow:install [--gpu] [--if-possible]
  --gpu          the library for CUDA, 2.4 GB instead of 187 MB
  --if-possible  where this machine lacks something, say what, and succeed`;

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Names the library that was installed last, and worked. */
const record = join(tensorFlowFolder, 'node_modules/.installed');

/** What is installed, in words; undefined where it is something else or does not work. */
async function installed(kind: Kind): Promise<string | undefined> {
  const isRecorded = existsSync(record) && readFileSync(record, 'utf8') === basename(libraryFolder(kind));
  return 'path' in findTensorFlow() && isRecorded ? await check().catch(() => undefined) : undefined;
}

/** Never by the package's own install script: what that downloads is checked against nothing. */
function install(kind: Kind): void {
  runTool(join(root, 'node_modules/.bin/pnpm'), ['install', '--frozen-lockfile', '--silent'], {
    cwd: tensorFlowFolder,
    failure: 'pnpm could not install @tensorflow/tfjs-node-gpu (see above)',
  });
  rmSync(record, { force: true });
  const library = libraryFolder(kind);
  rmSync(join(packageFolder(), addonFile), { force: true });
  const missing = missingTools();
  if (missing) throw new ToolError(missing);
  provideLibrary(kind);
  buildAddon(library);
  if (!works(kind)) throw new ToolError(`it does not work (see above); remove ${library} and try again`);
}

function works(kind: Kind): boolean {
  const script = fileURLToPath(new URL('check.ts', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) return false;
  writeFileSync(record, basename(libraryFolder(kind)));
  say(`installed: ${stdout.trim()}`);
  return true;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { gpu: { type: 'boolean' }, 'if-possible': { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return console.log(usage);
  const kind = values.gpu ? 'gpu' : 'cpu';
  if (values.gpu)
    say('CUDA was never tried on a machine with a GPU, only that without one it computes on the CPU');
  const platform = unsupportedPlatform();
  const before = platform ? undefined : await installed(kind);
  if (before) return say(`already installed: ${before}`);
  const obstacle = values['if-possible'] ? (platform ?? missingTools()) : undefined;
  if (obstacle) return say(`not installed: ${obstacle}`);
  if (platform) throw new ToolError(platform);
  install(kind);
}

try {
  await main();
} catch (error) {
  const isUsage = (error as { readonly code?: string }).code?.startsWith('ERR_PARSE_ARGS');
  if (!(error instanceof ToolError || isUsage)) throw error;
  console.error(
    isUsage
      ? `${(error as Error).message}\n${usage}`
      : `tensorflow: not installed: ${(error as Error).message}`,
  );
  process.exitCode = isUsage ? 2 : 1;
}
