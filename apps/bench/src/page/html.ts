// HTML and SVG as text. What is put in is escaped; only what this file has made is markup.
import { printable } from '@polyhead/inspect';

/** Markup. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | number | undefined | readonly Value[];

/** A template whose values are text, numbers, or markup of other templates; lists of them follow each other. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.reduce((all, string, n) => all + written(values[n - 1]) + string));
}

/** Attributes, `{ 'data-x': 3 }` as ` data-x="3"`; those that are undefined stay away. */
export function attributes(list: Readonly<Record<string, string | number | undefined>>): Html {
  const parts = Object.entries(list).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${escaped(`${value}`)}"`],
  );
  return new Html(parts.join(''));
}

/** A picture of `@polyhead/inspect`, which is markup and has escaped what it was given. */
export const picture = (svg: string) => new Html(svg);

function written(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  return typeof value === 'object' ? value.map(written).join('') : escaped(`${value}`);
}

/**
 * Characters that no document may hold, and those that turn the order of their neighbours around, are replaced. A number and
 * its sign stay on one line.
 */
const escaped = (text: string) =>
  printable(text)
    .replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`)
    .replace(/(?<=\d) (?=[%×])/g, '\u00a0');
