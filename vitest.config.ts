import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { CountReporter } from './scripts/count-reporter';
import { deviceNames, deviceProjects } from './scripts/devices/projects';
import { documentExamples } from './scripts/document-examples';
import { pageProject } from './scripts/pages/project';
import { testedBackends } from './scripts/tested-backends';

// Every package's tests and every example of the documents run once per backend, from source: no build needed.
const conditions = ['@polyhead/source', 'node', 'import'];
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const backends = testedBackends();

export default defineConfig({
  plugins: [documentExamples()],
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    isolate: false,
    maxWorkers: Math.max(2, availableParallelism() - 1), // the default leaves one of two processors idle
    testTimeout: 30_000, // machines are shared
    globalSetup: [here('./vitest.compile.ts')],
    reporters: ['default', new CountReporter()],
    projects: [
      ...backends
        .filter((backend) => !deviceNames.includes(backend))
        .map((backend) => ({
          extends: true as const,
          test: {
            name: backend,
            // Applications choose their backends: their tests run once.
            include: [
              '{packages,templates}/*/src/**/*.test.ts',
              'docs/*.test.ts',
              ...(backend === 'wasm' ? ['apps/*/src/**/*.test.ts'] : []),
            ],
            setupFiles: [here('./vitest.setup.ts')],
            env: { POLYHEAD_BACKEND: backend },
          },
        })),
      ...deviceProjects(backends),
      ...pageProject(backends),
      {
        extends: true as const,
        test: {
          name: 'scripts',
          include: [
            'examples/*.test.ts',
            'scripts/*.test.ts',
            'scripts/{backends,models,tensorflow}/*.test.ts',
          ],
        },
      },
    ],
  },
});
