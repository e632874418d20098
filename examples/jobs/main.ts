// `npx pnpm job NAME` learns one of the small jobs, says how well, shows what its heads read, and keeps the numbers.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { printUncaughtErrors } from '../../scripts/backends/errors';
import { keepResults, type Results } from './results';
import type { Tell } from './train';

printUncaughtErrors();
const jobs: Readonly<Record<string, () => Promise<{ readonly show: (tell: Tell) => Partial<Results> }>>> = {
  translation: () => import('./translation'),
  summaries: () => import('./summaries'),
  captions: () => import('./captions'),
  recall: () => import('./recall'),
  decisions: () => import('./decisions'),
};
const open = jobs[process.argv[2] ?? ''];
if (open) {
  await tf.setBackend('wasm');
  const start = performance.now();
  keepResults((await open()).show(console.log));
  console.log(`${((performance.now() - start) / 1000).toFixed(0)} s`);
} else {
  console.error(`npx pnpm job NAME, with one of: ${Object.keys(jobs).join(', ')}`);
  process.exitCode = 2;
}
