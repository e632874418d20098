import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-tensorflow-'));
  vi.resetModules(); // the programs are chosen when the module is read
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** A program that does what the lines say. */
function program(name: string, ...lines: string[]): string {
  const path = join(folder, name);
  writeFileSync(path, ['#!/bin/sh', ...lines].join('\n'), { mode: 0o755 });
  return path;
}

describe('pnpm tensorflow:install', () => {
  const script = fileURLToPath(new URL('install.ts', import.meta.url));
  const onMac = `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'darwin'})`;
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [onMac, '--import', 'tsx', script, ...args], { encoding: 'utf8' });
  const reason = /not installed: there is no library for darwin \w+, only for linux x64 with glibc\n$/;

  it('fails on other platforms, and says which it is for', () => {
    const { status, stdout, stderr } = run();
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(reason);
  });

  it('says so and succeeds where it need not be possible', () => {
    const { status, stdout, stderr } = run('--if-possible');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(reason);
  });

  it('answers options that it does not know with those it does', () => {
    const { status, stderr } = run('--cuda');
    expect(status).toBe(2);
    expect(stderr).toMatch(/'--cuda'[\s\S]*usage: pnpm tensorflow:install \[--gpu\]/);
  });
});

describe('missingTools', () => {
  it('names what is not there, and the packages that have it', async () => {
    vi.stubEnv('PYTHON', program('python', 'exit 1'));
    vi.stubEnv('CXX', join(folder, 'c++'));
    const { missingTools } = await import('./tools');
    expect(missingTools()).toBe(
      `this machine lacks ${folder}/python with pip (Debian: python3-pip) and ${folder}/c++ (Debian: g++)`,
    );
  });

  it('is silent where all is there', async () => {
    vi.stubEnv('PYTHON', program('python', 'exit 0'));
    vi.stubEnv('CXX', program('c++', 'exit 0'));
    const { missingTools } = await import('./tools');
    expect(missingTools()).toBeUndefined();
  });
});

describe('provideLibrary', () => {
  const cache = () => join(folder, 'polyhead-tensorflow');
  const withPython = async (...lines: string[]) => {
    vi.stubEnv('XDG_CACHE_HOME', folder);
    vi.stubEnv('PYTHON', program('python', ...lines));
    vi.spyOn(console, 'log').mockImplementation(() => {});
    return import('./library');
  };
  // python -m pip download ... --dest FOLDER --requirement FILE; python -c PROGRAM WHEEL FOLDER PREFIXES...
  const download =
    'while [ "$1" != --dest ]; do shift; done; mkdir -p "$2"; touch "$2/a.whl" "$2/b.whl"; exit';

  it('leaves nothing behind of a download that fails', async () => {
    const { provideLibrary } = await withPython('exit 1');
    expect(() => provideLibrary('cpu')).toThrow(
      /^pip could not download TensorFlow, or what came is not what/,
    );
    expect(readdirSync(cache())).toEqual([]);
  });

  it('removes what an interrupted download has left, and not what another is writing', async () => {
    const { provideLibrary } = await withPython('exit 1');
    for (const pid of [2 ** 30, process.ppid])
      mkdirSync(join(cache(), `partial-${pid}`), { recursive: true });
    expect(() => provideLibrary('cpu')).toThrow();
    expect(readdirSync(cache())).toEqual([`partial-${process.ppid}`]);
  });

  it('leaves nothing behind of an archive that is broken', async () => {
    const { provideLibrary } = await withPython(`if [ "$1" = -m ]; then ${download}; fi; exit 1`);
    expect(() => provideLibrary('cpu')).toThrow('a.whl could not be unpacked (see above)');
    expect(readdirSync(cache())).toEqual([]);
  });

  it('unpacks every archive into the cache, once', async () => {
    const unpack = 'mkdir -p "$4"; echo "$(basename "$3")" >> "$4/archives"';
    const { libraryFolder, provideLibrary } = await withPython(
      `if [ "$1" = -m ]; then ${download}; fi`,
      unpack,
    );
    expect(existsSync(libraryFolder('cpu'))).toBe(false);
    provideLibrary('cpu');
    expect(readdirSync(cache())).toHaveLength(1);
    expect(readdirSync(libraryFolder('cpu'))).toEqual(['archives']);
    rmSync(join(folder, 'python'));
    provideLibrary('cpu');
    expect(libraryFolder('gpu')).not.toBe(libraryFolder('cpu'));
  });
});
