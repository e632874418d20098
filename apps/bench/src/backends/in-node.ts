// The backends of Node, one after another.
import * as tf from '@tensorflow/tfjs-core';
import { firstLine } from '../../../../scripts/backends/errors';
import { startWebGPU } from '../../../../scripts/backends/webgpu';
import { startBackend } from './backend';
import { backendNames } from './backend-name';
import { type CostOptions, measureCosts } from './costs';
import type { BackendRow } from './row';

export async function measureInNode(options: CostOptions, onRow: (row: BackendRow) => void): Promise<void> {
  tf.enableProdMode(); // no advertisement for the native addon
  const starts = [
    ...backendNames.map((backend) => ({ backend, start: () => startBackend(backend) })),
    { backend: 'webgpu', start: startWebGPU },
  ];
  for (const { backend, start } of starts) {
    onRow({ where: 'Node', backend, outcome: await outcomeOf(start, options) });
  }
}

async function outcomeOf(
  start: () => Promise<{ readonly device: string } | { readonly reason: string }>,
  options: CostOptions,
): Promise<BackendRow['outcome']> {
  try {
    const started = await start();
    return 'reason' in started ? started : { device: started.device, costs: await measureCosts(options) };
  } catch (error) {
    return { reason: firstLine(error) };
  }
}
