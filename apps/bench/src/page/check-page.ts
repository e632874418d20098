// What a browser says of a page, and what people would who see it on a phone, in the dark, or not at all.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright';

/** Runs in the page. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const violationsOnly = "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))";

export const views = {
  light: { viewport: { width: 1100, height: 800 } },
  dark: { viewport: { width: 1100, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 375, height: 800 } },
} as const satisfies Record<string, BrowserContextOptions>;

export type ViewName = keyof typeof views;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Messages of the console, errors, what is fetched, what reaches beyond the page, labels upon labels, and what axe finds. */
export async function complaintsOf(browser: Browser, url: string, view: ViewName): Promise<string[]> {
  const page = await browser.newPage(views[view]);
  try {
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(`says ${message.text()}`));
    page.on('pageerror', ({ message }) => complaints.push(`throws ${message}`));
    page.on('request', (request) => {
      if (request.url() !== url) complaints.push(`fetches ${request.url()}`);
    });
    await page.goto(url);
    complaints.push(...(await beyondPage(page)), ...(await coveredNames(page)), ...(await violations(page)));
    return complaints;
  } finally {
    await page.close();
  }
}

async function beyondPage(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const beyond = [...document.querySelectorAll('main svg text, main p, main summary, header *')]
      .filter((element) => element.checkVisibility() && !element.closest('.skip'))
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
      .map((element) => `reaches beyond the page: ${element.textContent}`);
    const { scrollWidth } = document.documentElement;
    return scrollWidth > innerWidth
      ? [`is ${scrollWidth} pixels wide, not ${innerWidth}`, ...beyond]
      : beyond;
  });
}

async function coveredNames(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const charts = [...document.querySelectorAll('svg.chart')].filter((svg) => svg.checkVisibility());
    return charts.flatMap((svg) => {
      const names = [...svg.querySelectorAll('.name, .rule-name')].map((text) => ({
        text: text.textContent,
        box: text.getBoundingClientRect(),
      }));
      return names.flatMap(({ text, box }, n) =>
        names.slice(n + 1).flatMap((other) => {
          const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
          const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
          return wide > 1 && high > 4 ? [`${text} covers ${other.text}`] : [];
        }),
      );
    });
  });
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) details.open = true;
    // Thousands of cells, all alike, would take axe a minute.
    for (const row of document.querySelectorAll('.map g, tr:nth-child(n + 4)')) row.remove();
  });
  await page.evaluate(axe);
  const report = (await page.evaluate(violationsOnly)) as { readonly violations: readonly Violation[] };
  return report.violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`);
}
