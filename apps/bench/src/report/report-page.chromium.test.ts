// Pages in Chromium, where one is installed: on a screen, in the dark, on a phone, on paper and by keyboard.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../../../scripts/backends/chromium';
import { attentionPage } from '../attention/attention-page';
import { complaintsOf, type ViewName, views } from '../page/check-page';
import { exampleResult } from './fixtures/example-result';
import { fullResult } from './fixtures/full-result';
import { reportPage } from './report-page';

const executablePath = findChromium();
const title = executablePath ? 'pages in Chromium' : 'no Chromium is installed: pages are not opened';

describe.skipIf(!executablePath)(title, () => {
  let browser: Browser;
  let folder: string;
  const result = exampleResult();
  const [map] = result.maps!;
  const read = { ...map!, leftOut: ['<b>'] };
  const reads = [read, { ...read, text: 'Another.' }];
  const pages = {
    report: reportPage({ ...result, load: { ...result.load, busy: true } }),
    backends: reportPage(fullResult(['tensorflow', 'wasm', 'cpu'])),
    attention: attentionPage({ title: map!.model, layer: 2, reads, from: 'ship' }),
  };
  type PageName = keyof typeof pages;
  const urlOf = (name: PageName) => pathToFileURL(join(folder, `${name}.html`)).href;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
    folder = mkdtempSync(join(tmpdir(), 'polyhead-report-'));
    for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, `${name}.html`), text);
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  const cases: [PageName, ViewName][] = (Object.keys(views) as ViewName[]).map((view) => ['report', view]);
  cases.push(['backends', 'light'], ['backends', 'phone'], ['attention', 'phone']);

  it.each(cases)('%s, %s: nothing to complain of', { timeout: 60_000 }, async (name, view) => {
    expect(await complaintsOf(browser, urlOf(name), view)).toEqual([]);
  });

  it('can be used by keyboard alone', async () => {
    const page = await browser.newPage(views.light);
    await page.goto(urlOf('report'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('To the content');
    const details = page.locator('details').first();
    await details.locator('summary').focus();
    await page.keyboard.press('Enter');
    expect(await details.evaluate((element: HTMLDetailsElement) => element.open)).toBe(true);
    await page.close();
  });

  it('prints all tables, on white', async () => {
    const page = await browser.newPage(views.dark);
    await page.goto(urlOf('report'));
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe('rgb(253, 253, 251)');
    const heights = await page.evaluate(() =>
      [...document.querySelectorAll('details table')].map((table) => table.getBoundingClientRect().height),
    );
    expect(Math.min(...heights)).toBeGreaterThan(20);
    await page.close();
  });

  it('complains where there is reason to', async () => {
    const broken =
      '<!doctype html><html lang="en"><body style="width: 900px"><main><h1>x</h1><p style="color: #ccc">pale</p></main>';
    writeFileSync(join(folder, 'attention.html'), `${broken}<script>console.log("hello")</script>`);
    const complaints = (await complaintsOf(browser, urlOf('attention'), 'phone')).join('\n');
    for (const part of ['says hello', 'pixels wide, not 375', 'color-contrast'])
      expect(complaints).toContain(part);
  });
});
