import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { documentExamples } from './scripts/document-examples';

// Every package's tests and every example of the documents run once per backend, from source: no build needed.
const backends = (process.env.POLYHEAD_BACKENDS ?? 'cpu,wasm').split(',');
const conditions = ['@polyhead/source', 'node', 'import'];
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [documentExamples()],
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    isolate: false,
    testTimeout: 30_000, // machines are shared
    globalSetup: [here('./vitest.compile.ts')],
    reporters: ['default', here('./scripts/count-reporter.ts')],
    projects: [
      ...backends.map((backend) => ({
        extends: true as const,
        test: {
          name: backend,
          include: ['{packages,apps,templates}/*/src/**/*.test.ts', 'docs/*.test.ts'],
          setupFiles: [here('./vitest.setup.ts')],
          env: { POLYHEAD_BACKEND: backend },
        },
      })),
      { extends: true as const, test: { name: 'scripts', include: ['scripts/*.test.ts'] } },
    ],
  },
});
