import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { firstLine } from './errors';

it('gives the first line of whatever was thrown', () => {
  expect(firstLine(new TypeError('no such file\nRequire stack'))).toBe('no such file');
  expect(firstLine('one\ntwo')).toBe('one');
});

/** What a program says and ends with that loads the backend wasm and then runs the code. */
function run(code: string) {
  const program = `
    import '@tensorflow/tfjs-backend-wasm';
    import { setBackend } from '@tensorflow/tfjs-core';
    import { printUncaughtErrors } from './errors.ts';
    printUncaughtErrors();
    await setBackend('wasm'); // its handlers come with its module
    ${code}`;
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
  const { status, stderr } = run(`${code} await new Promise((resolve) => setTimeout(resolve, 5000));`);
  expect(stderr).toMatch(/^TypeError: of the caller\n {4}at /);
  expect(stderr.length).toBeLessThan(2000);
  expect(status).toBe(1);
});
