// The test projects of browsers and of graphics cards, which run when POLYHEAD_DEVICES or POLYHEAD_BACKENDS says so.
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { findVulkanDriver, isolation, launchOptions } from '../backends/chromium';
import type { Package } from '../package-rules';
import { readPackages } from '../packages';

interface Device {
  readonly backend: string;
  /** In a page of a browser, which may be isolated from pages of other origins; in Node where neither is said. */
  readonly page?: 'isolated' | 'plain';
  /** Where in the lists of tests its sample begins: each runs others. */
  readonly sample: number;
  /** WebGL on a card whose floats are halves. */
  readonly halfFloats?: true;
}

/** By the name of the project. */
const devices: { readonly [name: string]: Device } = {
  webgpu: { backend: 'webgpu', sample: 0 },
  'chromium-cpu': { backend: 'cpu', page: 'isolated', sample: 0 },
  'chromium-wasm': { backend: 'wasm', page: 'isolated', sample: 1 },
  'chromium-wasm-plain': { backend: 'wasm', page: 'plain', sample: 2 },
  'chromium-webgl': { backend: 'webgl', page: 'isolated', sample: 1 },
  'chromium-webgl-half': { backend: 'webgl', page: 'isolated', sample: 0, halfFloats: true },
  'chromium-webgpu': { backend: 'webgpu', page: 'isolated', sample: 2 },
};
export const deviceNames = Object.keys(devices);

// Which tests run there follows from their names and from the kinds of packages. Suites (`*conformance.test.ts`) and what
// is named `*.devices.test.ts` run on each; on those of one backend only, what is named `*.wasm-devices.test.ts`. The suite
// of a kernel runs where the kernel does, by the doors of its package.
const packages = readPackages(['packages']);
const of = (...kinds: readonly string[]) =>
  packages.filter(({ manifest }) => kinds.includes(manifest.polyhead?.kind ?? ''));
const suitesIn = (list: readonly Package[]) => list.map(({ path }) => `${path}/src/**/*conformance.test.ts`);
const others = packages.filter((one) => !of('kernel').includes(one));

/** The backends that a kernel package names its doors after; on `cpu` a page computes what Node does. */
const namedBackends = new Set(Object.values(devices).map(({ backend }) => backend));
function runsOn(backend: string, { manifest }: Package): boolean {
  const doors = Object.keys(manifest.exports ?? {}).map((door) => door.slice('./'.length));
  const named = doors.filter((door) => namedBackends.has(door));
  return named.length === 0 || (backend !== 'cpu' && named.includes(backend));
}

const everywhere = ['{packages,apps}/*/src/**/*.devices.test.ts', ...suitesIn(others)];
const ofHalfFloats = ['scripts/devices/half-floats.test.ts'];
const ofPages = ['scripts/devices/page.test.ts'];
const ofBackend = (backend: string) => [
  `packages/*/src/**/*.${backend}-devices.test.ts`,
  ...suitesIn(of('kernel').filter((one) => runsOn(backend, one))),
];
/** What may depend on how a page is served: kernels, and those of core that a tool holds the suites of. */
const ofKernels = of('tool')
  .flatMap(({ path }) => [`${path}/src/**/*.devices.test.ts`])
  .concat(suitesIn(of('tool')));

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const slow = { testTimeout: 120_000, hookTimeout: 120_000 }; // software in place of a graphics card

function testsOf({ backend, page, halfFloats }: Device): string[] {
  if (halfFloats) return ofHalfFloats;
  if (page === 'plain') return [...ofKernels, ...ofBackend(backend), ...ofPages];
  return [...everywhere, ...ofBackend(backend), ...(page ? ofPages : [])];
}

function variablesOf({ backend, page, sample, halfFloats }: Device) {
  return {
    POLYHEAD_BACKEND: backend,
    ...(page && { POLYHEAD_PAGE: page }),
    ...(halfFloats && { POLYHEAD_HALF_FLOATS: '1' }),
    ...(process.env.POLYHEAD_DEVICES !== 'all' && { POLYHEAD_SAMPLE: String(sample) }),
  };
}

function inNode(name: string): TestProjectInlineConfiguration {
  const driver = findVulkanDriver();
  const { XDG_RUNTIME_DIR = '/tmp' } = process.env; // a driver may ask for it
  return {
    extends: true,
    test: {
      ...slow,
      name,
      include: testsOf(devices[name]!),
      setupFiles: [here('./setup-node.ts')],
      env: { ...variablesOf(devices[name]!), ...(driver && { VK_DRIVER_FILES: driver, XDG_RUNTIME_DIR }) },
    },
  };
}

function inChromium(names: readonly string[], page: 'isolated' | 'plain'): TestProjectInlineConfiguration {
  return {
    extends: true,
    ...(page === 'isolated' && { server: { headers: isolation } }),
    cacheDir: here(`../../node_modules/.cache/polyhead/${page}-page`), // each serves its own
    resolve: { conditions: ['@polyhead/source', 'module', 'browser', 'import'] },
    test: {
      ...slow,
      name: `chromium, ${page}`,
      include: names.flatMap((name) => testsOf(devices[name]!)), // what is bundled ahead
      setupFiles: [here('./setup-page.ts')],
      fileParallelism: false,
      sequence: { groupOrder: 1 }, // the pages, which run side by side, come when Node is done
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({ launchOptions: launchOptions() }),
        instances: names.map((name) => ({
          browser: 'chromium' as const,
          name,
          include: testsOf(devices[name]!),
          env: variablesOf(devices[name]!),
        })),
      },
    },
  };
}

/** The projects of those backends that are asked for. */
export function deviceProjects(backends: readonly string[]): TestProjectInlineConfiguration[] {
  const namesIn = (page: Device['page']) =>
    backends.filter((name) => devices[name] && devices[name].page === page);
  const pages = (['isolated', 'plain'] as const).filter((page) => namesIn(page).length > 0);
  return [...namesIn(undefined).map(inNode), ...pages.map((page) => inChromium(namesIn(page), page))];
}
