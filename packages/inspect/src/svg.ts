// SVG as text: elements, attributes, and what must be escaped in them.
import { printable } from './token-label';

type Attributes = Readonly<Record<string, string | number>>;

/** Text that may stand in an element or an attribute. */
export function escapeXml(text: string): string {
  return printable(text).replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);
}

/** One element; `content` is markup already. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeXml(format(value))}"`);
  return content === ''
    ? `<${name}${written.join('')}/>`
    : `<${name}${written.join('')}>${content}</${name}>`;
}

/** A line of text. */
export function label(text: string, attributes: Attributes): string {
  return element('text', attributes, escapeXml(text));
}

const format = (value: string | number) =>
  typeof value === 'number' ? `${Number(value.toFixed(2))}` : value;
