// A browser's backends, measured in Chromium without a screen, in a page that is isolated and in one that is not.
import { chromium } from 'playwright';
import { findChromium, launchOptions } from '../../../../scripts/backends/chromium';
import { firstLine } from '../../../../scripts/backends/errors';
import type { CostOptions } from './costs';
import type { BackendRow } from './row';
import { servePage, urlOf } from './serve-page';

const pages = [
  { isolated: true, backends: ['wasm', 'cpu', 'webgl', 'webgpu'] },
  { isolated: false, backends: ['wasm'] },
];

export async function measureInChromium(
  options: CostOptions,
  onRow: (row: BackendRow) => void,
): Promise<void> {
  if (!findChromium()) {
    const reason = 'no browser is found (apt-get install chromium, or POLYHEAD_CHROMIUM=path)';
    return onRow({ where: 'Chromium', backend: 'all', outcome: { reason } });
  }
  const browser = await chromium.launch(launchOptions());
  try {
    for (const { isolated, backends } of pages) {
      const where = `Chromium ${browser.version().split('.')[0]}${isolated ? '' : ', plain page'}`;
      const server = await servePage({ isolated });
      try {
        const page = await browser.newPage();
        const failed = new Promise<never>((_, reject) => page.once('pageerror', reject));
        await page.exposeFunction('reportRow', (row: Omit<BackendRow, 'where'>) => onRow({ where, ...row }));
        const query = new URLSearchParams({ backends: backends.join(), ...textOf(options) });
        await page.goto(`${urlOf(server)}?${query}`);
        await Promise.race([page.getByText('Measured in').waitFor({ timeout: 600_000 }), failed]);
        await page.close();
      } catch (error) {
        onRow({ where, backend: backends.join(), outcome: { reason: firstLine(error) } });
      } finally {
        await server.close();
      }
    }
  } finally {
    await browser.close();
  }
}

const textOf = ({ tokens, runs }: CostOptions) => ({ tokens: `${tokens}`, runs: `${runs}` });
