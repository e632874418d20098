// The page that measures a browser's backends, with our packages from source.
import { fileURLToPath } from 'node:url';
import { createServer, type ViteDevServer } from 'vite';
import { isolation } from '../../../../scripts/backends/chromium';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Bundled ahead and together, so that there is one engine. */
const tensorFlowParts = ['tfjs', 'tfjs-core', 'tfjs-backend-cpu', 'tfjs-backend-wasm', 'tfjs-backend-webgpu'];

export interface PageOptions {
  /** Whether the page may share memory with its workers. */
  readonly isolated: boolean;
  /** The first to try; without one, any. */
  readonly port?: number;
}

/** Listens on localhost, the only place where a page without a certificate has WebGPU. */
export async function servePage({ isolated, port = 0 }: PageOptions): Promise<ViteDevServer> {
  const kind = isolated ? 'isolated' : 'plain';
  const server = await createServer({
    configFile: false,
    root: here('./page'),
    cacheDir: here(`../../../../node_modules/.cache/polyhead/bench-${kind}-page`),
    logLevel: 'error',
    resolve: { conditions: ['@polyhead/source', 'module', 'browser', 'import'] },
    optimizeDeps: { noDiscovery: true, include: tensorFlowParts.map((part) => `@tensorflow/${part}`) },
    server: {
      port,
      ...(isolated && { headers: isolation }),
      fs: { allow: [here('../../../..')] },
    },
  });
  return server.listen();
}

export const urlOf = ({ resolvedUrls }: ViteDevServer): string => resolvedUrls!.local[0]!;
