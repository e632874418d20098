import { readFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// Every package builds with this file and its own folder as working directory: one entry for each of its doors.
const { exports: doors } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly '@polyhead/source'?: string }>>;
};
const entry = Object.values(doors).flatMap((door) => door['@polyhead/source'] ?? []);

export default defineConfig({
  entry,
  format: 'esm',
  target: 'es2022',
  // tsup sets `baseUrl`, which TypeScript 6 calls deprecated. `npx pnpm typecheck` has checked what declarations are taken from.
  dts: { compilerOptions: { ignoreDeprecations: '6.0', noCheck: true } },
  sourcemap: true,
  esbuildOptions(options) {
    options.sourcesContent = false; // `src` is packed beside `dist`
  },
  clean: true,
});
