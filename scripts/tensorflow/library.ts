// TensorFlow's own library and its C headers: out of the Python wheels of a package registry, into the user's cache.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { python, runTool, say } from './tools';

export type Kind = 'cpu' | 'gpu';

/** The libraries with what they load, and the headers that the addon includes. */
const wanted = ['libtensorflow', 'include/tensorflow/', 'include/tsl/', 'include/xla/tsl/']
  .map((path) => `tensorflow/${path}`)
  .concat('nvidia/');
const unpack = `import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith(tuple(sys.argv[3:]))])`;

// Any Python 3 fetches these: they are read as archives, not installed.
const platforms = ['manylinux2014', 'manylinux_2_17', 'manylinux_2_27', 'manylinux_2_28'].map(
  (name) => `--platform=${name}_x86_64`,
);
const pip = ['-m', 'pip', 'download', '--disable-pip-version-check', '--no-cache-dir', '--no-deps'].concat(
  ['--only-binary=:all:', '--require-hashes', '--python-version=310', '--implementation=cp', '--abi=cp310'],
  platforms,
);

/** The folder of the library, whether it is there or not. */
export function libraryFolder(kind: Kind): string {
  const versions = createHash('sha256')
    .update(readFileSync(requirements(kind)))
    .digest('hex');
  return join(cacheFolder(), `${kind}-${versions.slice(0, 12)}`);
}

/** @throws ToolError where it cannot be downloaded, has other checksums than those pinned, or cannot be unpacked */
export function provideLibrary(kind: Kind): void {
  const folder = libraryFolder(kind);
  if (existsSync(folder)) {
    say(`library: in the cache, ${folder}`);
    return;
  }
  removeAbandoned();
  const work = join(cacheFolder(), `partial-${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    say(`library: downloading ${kind === 'gpu' ? '2.4 GB' : '187 MB'} with pip`);
    const wheels = join(work, 'wheels');
    runTool(python, [...pip, '--dest', wheels, '--requirement', requirements(kind)], {
      failure: 'pip could not download TensorFlow, or what came is not what was pinned (see above)',
    });
    say(`library: unpacking into ${folder}`);
    const unpacked = join(work, 'unpacked');
    for (const wheel of readdirSync(wheels)) {
      runTool(python, ['-c', unpack, join(wheels, wheel), unpacked, ...wanted], {
        failure: `${wheel} could not be unpacked (see above)`,
      });
    }
    renameSync(unpacked, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What processes left that were interrupted. */
function removeAbandoned(): void {
  if (!existsSync(cacheFolder())) return;
  for (const name of readdirSync(cacheFolder())) {
    const [, pid] = name.match(/^partial-(\d+)$/) ?? [];
    if (pid && !isRunning(Number(pid))) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function requirements(kind: Kind): string {
  return fileURLToPath(new URL(`${kind}.txt`, import.meta.url));
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'polyhead-tensorflow');
}
