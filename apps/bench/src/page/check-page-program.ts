// `tsx check-page-program.ts FILE`: a page is opened in Chromium and complained of, in each view; exit 1 where there is a complaint.
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright';
import { findChromium } from '../../../../scripts/backends/chromium';
import { userPath } from '../command-line/user-path';
import { complaintsOf, type ViewName, views } from './check-page';

const [file] = process.argv.slice(2);
const executablePath = findChromium();
if (file === undefined) throw new Error('give the file of a page');
if (executablePath === undefined) console.log('no Chromium is installed: the page is not opened');
else {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  for (const view of Object.keys(views) as ViewName[]) {
    const complaints = await complaintsOf(browser, pathToFileURL(userPath(file)).href, view);
    console.log(`${view}: ${complaints.length === 0 ? 'nothing to complain of' : complaints.join('\n')}`);
    if (complaints.length > 0) process.exitCode = 1;
  }
  await browser.close();
}
