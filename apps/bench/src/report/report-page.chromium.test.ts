// The page in Chromium: what a browser says of it, and what people would who see it on a phone, in the dark, or not at all.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../../../scripts/backends/chromium';
import { attentionPage } from '../attention/attention-page';
import { exampleResult } from './fixtures/example-result';
import { reportPage } from './report-page';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const chromiumHere = findChromium() !== undefined;

describe.skipIf(!chromiumHere)(
  chromiumHere ? 'pages in Chromium' : 'no Chromium is installed: no page is opened',
  () => {
    let browser: Browser;
    let folder: string;
    const result = exampleResult();
    const [map] = result.maps!;
    const read = { ...map!, leftOut: ['<b>'] };
    const pages = {
      report: reportPage({ ...result, load: { ...result.load, busy: true } }),
      attention: attentionPage({
        title: map!.model,
        layer: 2,
        reads: [read, { ...read, text: 'Another.' }],
        from: 'ship',
      }),
    };

    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: findChromium()!, args: ['--no-sandbox'] });
      folder = mkdtempSync(join(tmpdir(), 'polyhead-report-'));
      for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, `${name}.html`), text);
    });
    afterAll(async () => {
      await browser.close();
      rmSync(folder, { recursive: true });
    });

    async function open(
      name: string,
      options: Parameters<Browser['newPage']>[0],
    ): Promise<{ page: Page; said: string[] }> {
      const page = await browser.newPage(options);
      const said: string[] = [];
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', ({ message }) => said.push(message));
      page.on('request', (request) => {
        if (!request.url().endsWith(`${name}.html`)) said.push(`fetches ${request.url()}`);
      });
      await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
      return { page, said };
    }

    const views = [
      ['light', { viewport: { width: 1100, height: 800 } }],
      ['dark', { viewport: { width: 1100, height: 800 }, colorScheme: 'dark' }],
      ['phone', { viewport: { width: 375, height: 800 } }],
    ] as const;
    const cases = Object.keys(pages).flatMap((name) =>
      views.map(([view, options]) => [name, view, options] as const),
    );

    it.each(cases)('%s, %s: says nothing, overflows nowhere, and passes axe', async (name, _, options) => {
      const { page, said } = await open(name, options);
      expect(said).toEqual([]);
      const { scrollWidth, beyond } = await page.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
        beyond: [...document.querySelectorAll('main svg text, main p, main summary, header *')]
          .filter((element) => element.checkVisibility() && !element.closest('.skip'))
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
          .map((element) => element.textContent),
      }));
      expect(scrollWidth).toBeLessThanOrEqual(options.viewport.width);
      expect(beyond).toEqual([]);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true;
      });
      await page.evaluate(axe);
      const { violations } = (await page.evaluate(
        "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))",
      )) as {
        violations: Violation[];
      };
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`),
      ).toEqual([]);
      await page.close();
    });

    it('names no two lines in one place', async () => {
      const { page } = await open('report', views[2][1]);
      const covered = await page.evaluate(() =>
        [...document.querySelectorAll('svg.chart')]
          .filter((svg) => svg.checkVisibility())
          .flatMap((svg) => {
            const names = [...svg.querySelectorAll('.name, .rule-name')].map((text) => ({
              text: text.textContent,
              box: text.getBoundingClientRect(),
            }));
            return names.flatMap(({ text, box }, n) =>
              names.slice(n + 1).flatMap((other) => {
                const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
                const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
                return wide > 1 && high > 4 ? [`${text} and ${other.text}`] : [];
              }),
            );
          }),
      );
      expect(covered).toEqual([]);
      await page.close();
    });

    it('can be used by keyboard alone', async () => {
      const { page } = await open('report', views[0][1]);
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('To the content');
      const details = page.locator('details').first();
      await details.locator('summary').focus();
      await page.keyboard.press('Enter');
      expect(await details.evaluate((element: HTMLDetailsElement) => element.open)).toBe(true);
      await page.close();
    });

    it('prints all tables, on white', async () => {
      const { page } = await open('report', views[1][1]);
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
        'rgb(253, 253, 251)',
      );
      const heights = await page.evaluate(() =>
        [...document.querySelectorAll('details table')].map((table) => table.getBoundingClientRect().height),
      );
      expect(Math.min(...heights)).toBeGreaterThan(20);
      await page.close();
    });
  },
);
