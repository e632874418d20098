// A page, opened in Chromium: what it shows, and what it says on its console.
import type { Browser } from 'playwright';

export interface Opened {
  /** Of the body. */
  readonly text: string;
  /** Messages and uncaught errors, each with the address that it is about. */
  readonly console: string;
}

interface Until {
  /** What the console of a page that shows nothing says. Without it, the page is awaited until its body holds something. */
  readonly said?: RegExp;
}

const patience = 20_000; // machines are shared
const step = 50;

/** @returns as soon as the page shows something, or has said what it is to say and shows nothing for half a second more */
export async function openPage(browser: Browser, url: string, { said }: Until = {}): Promise<Opened> {
  const page = await browser.newPage();
  const lines: string[] = [];
  page.on('console', (message) => lines.push(`${message.text()} ${message.location().url}`));
  page.on('pageerror', ({ message }) => lines.push(message));
  const textOf = () => page.evaluate(() => document.body.textContent.trim());
  const isOver = async () => (await textOf()) !== '' || said?.test(lines.join('\n'));
  await page.goto(url);
  for (let waited = 0; waited < patience && !(await isOver()); waited += step)
    await page.waitForTimeout(step);
  if (said) await page.waitForTimeout(500);
  const opened = { text: await textOf(), console: lines.join('\n') };
  await page.close();
  return opened;
}
