import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { firstLine } from './errors';

it('gives the first line of whatever was thrown', () => {
  expect(firstLine(new TypeError('no such file\nRequire stack'))).toBe('no such file');
  expect(firstLine('one\ntwo')).toBe('one');
});

/** What a program says and ends with that runs some code, loads the backend wasm and then runs the other code. */
function run({ before = '', after = '' }) {
  const program = `
    import '@tensorflow/tfjs-backend-wasm';
    import { setBackend } from '@tensorflow/tfjs-core';
    import { printUncaughtErrors } from './errors.ts';
    printUncaughtErrors();
    ${before}
    await setBackend('wasm'); // its handlers come with its module
    ${after}`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  });
}

it.each([
  ['an error that nobody catches', "setTimeout(() => { throw new TypeError('of the caller'); });"],
  ['a promise that nobody awaits', "Promise.reject(new TypeError('of the caller'));"],
])('prints of %s its own lines alone', { timeout: 30_000 }, (_, code) => {
  const { status, stderr } = run({
    after: `${code} await new Promise((resolve) => setTimeout(resolve, 5000));`,
  });
  expect(stderr).toMatch(/^TypeError: of the caller\n {4}at /);
  expect(stderr.length).toBeLessThan(2000);
  expect(status).toBe(1);
});

it('prints few lines, too, where the module of the backend cannot be read', { timeout: 30_000 }, () => {
  const { status, stderr } = run({
    before: `
      const fs = process.getBuiltinModule('node:fs');
      const { readFileSync } = fs;
      fs.readFileSync = (path, ...rest) => {
        if (String(path).endsWith('.wasm')) throw new Error('it cannot be read');
        return readFileSync(path, ...rest);
      };`,
    after: "throw new TypeError('wasm is not there');",
  });
  expect(stderr).toContain('it cannot be read');
  expect(stderr).toContain('TypeError: wasm is not there');
  expect(stderr.length).toBeLessThan(4000);
  expect(status).toBe(1);
});
