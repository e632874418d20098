// What packages add to a page, minified and gzipped; TensorFlow.js is left out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import type { Project } from './project';
import { root } from './tools';

const layer = `import { MultiHeadAttention } from '@polyhead/multi-head';
new MultiHeadAttention({ embedDim: 8, numHeads: 2 }).apply({ query: globalThis.x });
`;

/** What is measured, by the words of docs/install.md. The first is a layer with `composed`; the others come beside it. */
const sizes: readonly (readonly [what: string, code: string])[] = [
  ['`@polyhead/core` and `@polyhead/multi-head`, `composed` within', ''],
  ['`flashWasm`, whose WebAssembly is in it', use('flashWasm', '@polyhead/flash/wasm')],
  ['`denseProducts`, with its WebAssembly', use('denseProducts', '@polyhead/dense')],
  ...['GrowingCache', 'StaticCache', 'RingCache', 'QuantizedCache'].map(
    (cache) => [`\`${cache}\``, use(cache, '@polyhead/kv-cache')] as const,
  ),
  ['`PagedCache` and its pool', use('PagedCache, PagePool', '@polyhead/kv-cache')],
  ['`AttentionLayer` of `@polyhead/layers`', use('AttentionLayer', '@polyhead/layers')],
  ['`loadKerasModel`', use('loadKerasModel', '@polyhead/layers')],
  ['`rotary`', use('rotary', '@polyhead/relative-position')],
  ...[
    ...['causal', 'slidingWindow', 'chunks', 'prefix', 'globalTokens', 'segments', 'validLengths'],
    ...['leftPadding', 'dense', 'predicate', 'allOf', 'anyOf'],
  ].map((mask) => ['a mask', use(mask, '@polyhead/core')] as const),
];

function use(names: string, from: string): string {
  return `import { ${names} } from '${from}'; globalThis.y = [${names}];`;
}

/** In thousands of bytes, as docs/install.md promises them. */
function readBounds(): ReadonlyMap<string, number> {
  const text = readFileSync(join(root, 'docs/install.md'), 'utf8');
  const rows = [...text.matchAll(/^\| (.*?) +\| ([\d.]+) kB +\|$/gm)];
  return new Map(rows.map(([, what, kB]) => [what!, Number(kB)]));
}

/** @throws Error for what has grown beyond its bound, and for what has none */
export async function measureSizes({ folder }: Project): Promise<string> {
  const bounds = readBounds();
  const measured: { readonly what: string; readonly kB: number; readonly bound: number }[] = [];
  let base = 0;
  for (const [what, code] of sizes) {
    const bytes = await gzipped(layer + code, folder);
    measured.push({ what, kB: (bytes - base) / 1000, bound: bounds.get(what) ?? 0 });
    if (base === 0) base = bytes;
  }
  const words = measured.map(({ what, kB, bound }) => `${what} ${kB.toFixed(1)} of ${bound} kB`).join(', ');
  if (measured.some(({ kB, bound }) => kB > bound)) throw new Error(`too large: ${words}`);
  return words;
}

async function gzipped(contents: string, folder: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder, sourcefile: join(folder, 'measured.js') },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['@tensorflow/*'],
    write: false,
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}
