// Packages of two minor versions in one application, which has two copies of core then.
import { deepEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { install, installedPackages, newProject, type Project, printed, write } from './project';
import type { Registry } from './registry';
import { nodeVersions } from './tools';

const layers = ['@polyhead/multi-head', '@polyhead/grouped-query'];
const parts = ['@polyhead/core', '@polyhead/flash', '@polyhead/kv-cache', '@polyhead/relative-position'];

export interface Versions {
  readonly earlier: string;
  readonly later: string;
}

/** Layers of one version take masks, position methods, kernels and caches of the other, and their errors are known. */
export function checkMixed(folder: string, registry: Registry, { earlier, later }: Versions): string {
  const print = (name: string, versions: readonly [ofLayers: string, ofParts: string]) => {
    const project = newProject(join(folder, name), registry);
    const packages = [
      ...layers.map((layer) => `${layer}@${versions[0]}`),
      ...parts.map((part) => `${part}@${versions[1]}`),
    ];
    install(project, [...packages, '@tensorflow/tfjs-core', '@tensorflow/tfjs-backend-wasm']);
    deepEqual(coresOf(project), [...new Set(versions)].sort(), `versions of core in ${name}`);
    write(project, 'mixed.js', program);
    return printed(project, 'mixed.js', nodeVersions().installed[0]!);
  };
  const alone = print('alone', [earlier, earlier]);
  deepEqual(print('later-parts', [earlier, later]), alone, `layers of ${earlier}, parts of ${later}`);
  deepEqual(print('later-layers', [later, earlier]), alone, `layers of ${later}, parts of ${earlier}`);
  return `${alone.length} facts are the same`;
}

function coresOf(project: Project): string[] {
  const cores = installedPackages(project).filter(({ name }) => name === '@polyhead/core');
  return [...new Set(cores.map(({ version }) => version))].sort();
}

const program = `import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-wasm';
import * as core from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache, StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { alibi, rotary, t5 } from '@polyhead/relative-position';

await tf.setBackend('wasm');
const tokens = tf.randomNormal([2, 5, 8], 0, 1, 'float32', 1);
const numbers = ({ output, kernel }) => kernel + ' ' + [...output.dataSync()].slice(-8).map((x) => x.toFixed(4));
const tell = (name, fact) => console.log(name.padEnd(20) + ' ' + fact());

const { causal, slidingWindow, segments, validLengths, allOf, anyOf, prefix, predicate, dense } = core;
const masks = {
  causal: causal(),
  slidingWindow: slidingWindow({ left: 2, right: 0 }),
  segments: segments([[0, 0, 1, 1, 1], [0, 1, 1, 1, 2]]),
  validLengths: validLengths([3, 5]),
  allOf: allOf(causal(), validLengths([3, 5])),
  anyOf: anyOf(causal(), prefix(2)),
  predicate: predicate((b, h, query, key) => (query + key) % 2 === 0),
  dense: dense(tf.tensor2d([...Array(25).keys()].map((n) => n % 3 === 0), [5, 5], 'bool')),
};
const kernels = { composed: core.composed(), flash: flash(), first: core.firstSupported([flash(), core.composed()]) };
for (const kernel of Object.values(kernels)) await kernel.prepare?.();
for (const [name, kernel] of Object.entries(kernels)) {
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 }, { kernel });
  for (const [title, mask] of Object.entries(masks))
    tell(name + ' ' + title, () => numbers(layer.apply({ query: tokens }, { mask })));
}
for (const Cache of [GrowingCache, StaticCache]) {
  const config = { embedDim: 8, numHeads: 4, numKeyValueHeads: 2, seed: 1 };
  const layer = new GroupedQueryAttention(config, { position: rotary({ headDim: 2 }), kernel: kernels.flash });
  const other = new GroupedQueryAttention(config);
  const cache = Cache === GrowingCache ? new Cache(layer.cacheShape(2)) : new Cache(layer.cacheShape(2), { capacity: 10 });
  layer.apply({ query: tokens }, { mask: causal(), cache });
  tell(Cache.name, () => numbers(layer.apply({ query: tokens }, { mask: causal(), cache })) + ' ' + cache.lengths);
  tell(Cache.name + ' is bound', () => refusal(() => other.apply({ query: tokens }, { mask: causal(), cache })));
}
for (const position of [alibi({ numHeads: 2 }), t5({ numHeads: 2, seed: 1 })]) {
  const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 }, { position });
  tell('position', () => numbers(layer.apply({ query: tokens }, { mask: causal() })));
}
function refusal(call) {
  try {
    call();
    return 'taken';
  } catch (error) {
    return core.isAttentionError(error) + ' ' + error.name + ' ' + error.message.split('\\n')[0];
  }
}
const layer = new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 }, { kernel: kernels.flash, position: rotary({ headDim: 4 }) });
tell('ShapeError', () => refusal(() => layer.apply({ query: tf.zeros([1, 2, 3]) })));
tell('ConfigError', () => refusal(() => new MultiHeadAttention({ embedDim: 8, numHeads: 3 })));
tell('UnsupportedError', () => refusal(() => layer.apply({ query: tokens }, { returns: ['weights'] })));
tell('no mask', () => refusal(() => layer.apply({ query: tokens }, { mask: {} })));
const json = JSON.parse(JSON.stringify(core.toConfig(layer)));
tell('fromConfig', () => numbers(core.fromConfig(json, [MultiHeadAttention, rotary, flash]).apply({ query: tokens })));
core.setDefaultKernel(kernels.flash);
tell('default kernel', () => numbers(new MultiHeadAttention({ embedDim: 8, numHeads: 2, seed: 1 }).apply({ query: tokens })));
`;
