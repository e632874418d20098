// A page of its own: one file that fetches nothing and runs nothing, which its content security policy says, too.
import { Html, html } from './html';
import { style } from './style';

export interface Section {
  /** The anchor, a word or two with hyphens. */
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

export interface Page {
  readonly title: string;
  /** The first line: what to do. */
  readonly lead: string;
  /** Beneath it, before the sections. */
  readonly opening?: Html;
  readonly sections: readonly Section[];
  readonly footer: Html;
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

export function pageText({ title, lead, opening, sections, footer }: Page): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<h1>${title}</h1>
<p class="lead">${lead}</p>
${opening}
${sections.length > 2 ? contents(sections) : undefined}
</header>
<main id="content" tabindex="-1">
${sections.map(
  ({ id, title: name, body }) => html`<section aria-labelledby="${id}">
<h2 id="${id}">${name}</h2>
${body}
</section>
`,
)}
</main>
<footer>${footer}</footer>
</body>
</html>
`;
  return page.text;
}

const contents = (sections: readonly Section[]) => html`<nav aria-label="Contents"><ul>
${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>\n`)}</ul></nav>`;
