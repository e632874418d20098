// What packages add to a page, minified and gzipped; TensorFlow.js is left out.
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import type { Project } from './project';

const layer = `import { MultiHeadAttention } from '@polyhead/multi-head';
new MultiHeadAttention({ embedDim: 8, numHeads: 2 }).apply({ query: globalThis.x });
`;

/** The first is a layer with `composed`; the others are what comes beside it. Bounds in thousands of bytes. */
const sizes: readonly (readonly [name: string, bound: number, code: string])[] = [
  ['core + multi-head', 29, ''],
  ['flash/wasm', 40, "import { flashWasm } from '@polyhead/flash/wasm'; globalThis.y = flashWasm();"],
  ['dense', 12, "import { denseProducts } from '@polyhead/dense'; globalThis.y = denseProducts();"],
  ['GrowingCache', 6, "import { GrowingCache } from '@polyhead/kv-cache'; globalThis.y = GrowingCache;"],
  ['StaticCache', 6.2, "import { StaticCache } from '@polyhead/kv-cache'; globalThis.y = StaticCache;"],
  [
    'QuantizedCache',
    7.2,
    "import { QuantizedCache } from '@polyhead/kv-cache'; globalThis.y = QuantizedCache;",
  ],
  ['RingCache', 6.7, "import { RingCache } from '@polyhead/kv-cache'; globalThis.y = RingCache;"],
  [
    'PagedCache and its pool',
    7.5,
    "import { PagedCache, PagePool } from '@polyhead/kv-cache'; globalThis.y = [PagedCache, PagePool];",
  ],
  ['AttentionLayer', 4, "import { AttentionLayer } from '@polyhead/layers'; globalThis.y = AttentionLayer;"],
  [
    'loadKerasModel',
    12.5,
    "import { loadKerasModel } from '@polyhead/layers'; globalThis.y = loadKerasModel;",
  ],
  ['rotary', 5, "import { rotary } from '@polyhead/relative-position'; globalThis.y = rotary;"],
  ...[
    ...['causal', 'slidingWindow', 'chunks', 'prefix', 'globalTokens', 'segments', 'validLengths'],
    ...['leftPadding', 'dense', 'predicate', 'allOf', 'anyOf'],
  ].map((mask) => [mask, 1.3, `import { ${mask} } from '@polyhead/core'; globalThis.y = ${mask};`] as const),
];

/** @throws Error for what has grown beyond its bound */
export async function measureSizes({ folder }: Project): Promise<string> {
  const measured: { readonly name: string; readonly kB: number; readonly bound: number }[] = [];
  let base = 0;
  for (const [name, bound, code] of sizes) {
    const bytes = await gzipped(layer + code, folder);
    measured.push({ name, kB: (bytes - base) / 1000, bound });
    if (base === 0) base = bytes;
  }
  const words = measured.map(({ name, kB, bound }) => `${name} ${kB.toFixed(1)} of ${bound} kB`).join(', ');
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
