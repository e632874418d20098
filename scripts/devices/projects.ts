// The test projects of browsers and of graphics cards, which run when POLYHEAD_DEVICES or POLYHEAD_BACKENDS says so.
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { findChromium, findVulkanDriver } from './find-chromium';

interface Device {
  readonly backend: string;
  /** In a page of a browser, which may be isolated from pages of other origins; in Node where neither is said. */
  readonly page?: 'isolated' | 'plain';
  /** Where in the lists of tests its sample begins: each runs others. */
  readonly sample: number;
}

/** By the name of the project. */
const devices: { readonly [name: string]: Device } = {
  webgpu: { backend: 'webgpu', sample: 0 },
  'chromium-cpu': { backend: 'cpu', page: 'isolated', sample: 0 },
  'chromium-wasm': { backend: 'wasm', page: 'isolated', sample: 1 },
  'chromium-wasm-plain': { backend: 'wasm', page: 'plain', sample: 2 },
  'chromium-webgl': { backend: 'webgl', page: 'isolated', sample: 1 },
  'chromium-webgpu': { backend: 'webgpu', page: 'isolated', sample: 2 },
};
export const deviceNames = Object.keys(devices);

// What has to hold on every backend: the suites of kernels, layers, positions and caches.
const suites = [
  'packages/conformance/src/{composed,cases-devices}.test.ts',
  'packages/{multi-head,grouped-query,relative-position}/src/*conformance.test.ts',
  'packages/kv-cache/src/{decode,padded-decode,cache-model}.test.ts',
];
const ofPages = ['scripts/devices/page.test.ts'];
const ofFusedKernels = ['packages/flash/src/conformance.test.ts'];

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const slow = { testTimeout: 120_000, hookTimeout: 120_000 }; // software in place of a graphics card

const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const browserArguments = [
  ...['--no-sandbox', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
  ...['--disable-sync', '--disable-quic'],
  // Graphics in software, for WebGPU and for WebGL.
  ...['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'],
  ...['--use-vulkan=swiftshader', '--use-angle=swiftshader'],
];

function variablesOf({ backend, sample }: Device) {
  const isWhole = process.env.POLYHEAD_DEVICES === 'all';
  return { POLYHEAD_BACKEND: backend, ...(!isWhole && { POLYHEAD_SAMPLE: String(sample) }) };
}

function inNode(name: string): TestProjectInlineConfiguration {
  const driver = findVulkanDriver();
  const { XDG_RUNTIME_DIR = '/tmp' } = process.env; // a driver may ask for it
  return {
    extends: true,
    test: {
      ...slow,
      name,
      include: suites,
      setupFiles: [here('./setup-node.ts')],
      env: { ...variablesOf(devices[name]!), ...(driver && { VK_DRIVER_FILES: driver, XDG_RUNTIME_DIR }) },
    },
  };
}

function inChromium(names: readonly string[], page: 'isolated' | 'plain'): TestProjectInlineConfiguration {
  const executablePath = findChromium();
  return {
    extends: true,
    ...(page === 'isolated' && { server: { headers: isolation } }),
    resolve: { conditions: ['@polyhead/source', 'module', 'browser', 'import'] },
    test: {
      ...slow,
      name: `chromium, ${page}`,
      setupFiles: [here('./setup-page.ts')],
      fileParallelism: false,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        provider: playwright({
          launchOptions: { ...(executablePath && { executablePath }), args: browserArguments },
        }),
        instances: names.map((name) => ({
          browser: 'chromium' as const,
          name,
          include: [
            ...suites,
            ...ofPages,
            ...(['cpu', 'wasm'].includes(devices[name]!.backend) ? ofFusedKernels : []),
          ],
          env: { ...variablesOf(devices[name]!), POLYHEAD_PAGE: page },
        })),
      },
    },
  };
}

/** The projects of those backends that are asked for. */
export function deviceProjects(asked: readonly string[]): TestProjectInlineConfiguration[] {
  const namesIn = (page: Device['page']) =>
    asked.filter((name) => devices[name] && devices[name].page === page);
  const pages = (['isolated', 'plain'] as const).filter((page) => namesIn(page).length > 0);
  return [...namesIn(undefined).map(inNode), ...pages.map((page) => inChromium(namesIn(page), page))];
}
