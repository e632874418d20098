import { describe, expect, it } from 'vitest';
import { svgHeadMaps } from './svg-head-maps';
import { textHeadMaps } from './text-head-maps';

const hostile = ['<b>', '&amp;', '"\'', '😀', 'שלום', '\u202e', '\ud800', 'line\nfeed', ']]>', '東京'];
const map = (Sq: number, Skv = Sq) =>
  Array.from({ length: Sq }, (_, i) => Array.from({ length: Skv }, (__, j) => (i * Skv + j) / (Sq * Skv)));
const tokens = (n: number, name = 't') => Array.from({ length: n }, (_, i) => `${name}${i}`);
const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]!);

describe('svgHeadMaps', () => {
  it('calls maps, axes and scale what they show', () => {
    const axes = { queries: 'layers', keys: 'heads', weight: 'nats' };
    const svg = svgHeadMaps([map(2), map(2)], { queries: ['1', '2'], names: ['loss', '<b>'], axes });
    checkXml(svg);
    for (const word of ['loss', '&#60;b&#62;', 'layers', 'heads', 'nats']) expect(texts(svg)).toContain(word);
    for (const word of ['head 1', 'queries', 'keys', 'weight']) expect(texts(svg)).not.toContain(word);
  });

  it.each([
    [{ names: ['one'] }, /names must hold a string for each map/],
    [{ names: ['one', 2] }, /names must hold/],
    [{ axes: { queries: 'layers' } }, /axes must name queries, keys and weight/],
  ])('refuses names that are missing: %#', (options, message) => {
    expect(() => svgHeadMaps([map(2), map(2)], { queries: ['1', '2'], ...options } as never)).toThrow(
      message,
    );
  });

  it('writes every value, both axes, each token and head, the scale and the title', () => {
    const heads = [map(2, 3), map(2, 3)];
    const svg = svgHeadMaps(heads, { queries: ['q0', 'q1'], keys: ['k0', 'k1', 'k2'], title: 'Layer 2' });
    checkXml(svg);
    const ofHead = (name: string) => [
      name,
      'queries',
      'keys',
      'q0',
      'q1',
      'k0',
      'k1',
      'k2',
      '0.00',
      '0.17',
      '0.33',
      '0.50',
      '0.67',
      '0.83',
    ];
    const scale = ['0.83', '0.42', '0.00', 'weight'];
    expect(texts(svg)).toEqual(['Layer 2', ...ofHead('head 1'), ...ofHead('head 2'), ...scale]);
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 \d+ \d+" width="\d+"/);
  });

  it('darkens cells with their weight, on one scale for all heads', () => {
    const svg = svgHeadMaps([[[0.25, 0]], [[0.5, 1]]], { queries: ['a'], keys: ['b', 'c'] });
    const cells = [...svg.matchAll(/<rect [^>]*width="36"[^>]*fill="(#\w+)"/g)].map((cell) => cell[1]!);
    const [quarter, none, half, all] = cells.map((color) => Number.parseInt(color.slice(1, 3), 16));
    expect(cells).toHaveLength(4);
    expect(none!).toBeGreaterThan(quarter!);
    expect(quarter!).toBeGreaterThan(half!);
    expect(half!).toBeGreaterThan(all!);
  });

  it('is well-formed XML for any tokens and title', () => {
    const svg = svgHeadMaps([map(10)], { queries: hostile, title: '</text><script>"&' });
    checkXml(svg);
    expect(svg).not.toContain('<script');
    expect(texts(svg)).toContain('&#60;b&#62;');
    expect(texts(svg)).toContain('line␊feed');
    expect(texts(svg)).toContain('שלום');
    expect(texts(svg)).toContain('😀');
  });

  it('has each weight as data, in cells of either size', () => {
    const weights = [1 / 3, Number.NaN, 0, 2e-7];
    for (const values of [true, false]) {
      const svg = svgHeadMaps([[weights]], { queries: ['a'], keys: tokens(4), values });
      checkXml(svg);
      const data = [...svg.matchAll(/data-weight="([^"]*)"/g)].map((match) => match[1]);
      expect(data).toEqual(['0.333333', 'NaN', '0', '2e-7']);
      expect(svg.includes('width="36"')).toBe(values);
    }
    expect(() => svgHeadMaps([[[1]]], { queries: ['a'], values: 1 as never })).toThrow('values must be');
  });

  it('puts heads beside each other, in rows of as many as asked for', () => {
    const heads = [map(3), map(3), map(3)];
    const size = (columns?: number) => {
      const svg = svgHeadMaps(heads, { queries: tokens(3), ...(columns && { columns }) });
      const [, width, height] = svg.match(/viewBox="0 0 (\d+) (\d+)"/)!.map(Number);
      return { width: width!, height: height! };
    };
    expect(size(3)).toEqual(size());
    expect(size(1).width).toBeLessThan(size(2).width);
    expect(size(2).width).toBeLessThan(size(3).width);
    expect(size(1).height).toBeGreaterThan(size(2).height);
    expect(size(2).height).toBeGreaterThan(size(3).height);
  });

  it('shows values of many tokens where the pointer rests', () => {
    const svg = svgHeadMaps([map(33)], { queries: tokens(33), title: 'long' });
    checkXml(svg);
    expect(svg).toContain('<title>t0 → t1: 0.00</title>');
    expect(texts(svg)).toHaveLength(1 + 3 + 2 * 33 + 4);
  });

  it('draws numbers beside the rows of each map, on a scale of their own', () => {
    const beside = {
      entropy: [
        [0.5, 2],
        [1, 0],
      ],
      '<mass>': [
        [0.1, 0.2],
        [0.3, 0.4],
      ],
    };
    const svg = svgHeadMaps([map(2), map(2)], { queries: ['a', 'b'], beside });
    checkXml(svg);
    const [, second] = svg.split('>head 1<')[1]!.split('>head 2<');
    expect(texts(`<text>${second}`).slice(6)).toEqual([
      ...['0.00', '0.25', '0.50', '0.75'],
      ...['entropy ≤ 2.00', '1.00', '0.00', '&#60;mass&#62; ≤ 0.40', '0.30', '0.40'],
      ...['0.75', '0.38', '0.00', 'weight'],
    ]);
    const fillOf = (value: string) => svg.match(new RegExp(`fill="(#\\w+)"/><text[^>]*>${value}<`))![1];
    expect(fillOf('2.00')).toBe(fillOf('0.40')); // the largest of each
    expect(fillOf('2.00')).toBe(fillOf('0.75'));
    const plain = svgHeadMaps([map(2), map(2)], { queries: ['a', 'b'] });
    const widthOf = (text: string) => Number(text.match(/width="(\d+)"/)![1]);
    expect(widthOf(svg)).toBeGreaterThanOrEqual(widthOf(plain) + 2 * 36);
  });

  it('shows numbers beside many tokens where the pointer rests', () => {
    const beside = { entropy: [new Array<number>(33).fill(1.5)] };
    const svg = svgHeadMaps([map(33)], { queries: tokens(33), beside });
    checkXml(svg);
    expect(svg).toContain('<title>t32, entropy ≤ 1.50: 1.50</title>');
  });

  it('shows where the pointer rests what two decimals cannot tell apart', () => {
    const svg = svgHeadMaps([[[0.004, 0.0012]]], { queries: ['a'], keys: ['b', 'c'] });
    expect(svg).toContain('<title>a → c: 0.0012</title>');
    expect(texts(svg)).toEqual(expect.arrayContaining(['0.0040', '0.0020', '0.0000']));
  });

  it('shortens long tokens, so that maps keep their place', () => {
    const svg = svgHeadMaps([map(2)], { queries: ['x'.repeat(500), 'y'] });
    expect(texts(svg)).toContain(`${'x'.repeat(15)}…`);
  });

  it('draws what is no number grey, and rows that see nothing empty', () => {
    const svg = svgHeadMaps([[[Number.NaN, 0]]], { queries: ['a'], keys: ['b', 'c'] });
    checkXml(svg);
    expect(texts(svg)).toContain('NaN');
    expect(svg).toContain('fill="#c8c8c8"');
  });

  it.each([
    [[map(2)], { queries: ['a'] }, /there must be a token for each query/],
    [[], { queries: [] }, /heads must be numbers/],
    [[map(1)], undefined as never, /options must be an object/],
    [[map(1)], { queries: ['a'], colums: 2 } as never, /unknown +\[colums\]/],
    [[map(1, 65_537)], { queries: ['a'], keys: [] }, /at most 65536 cells, 256 · 256[\s\S]*\[1, 65537\]/],
    [[map(1)], { queries: ['a'], beside: { x: [[1, 2]] } }, /x must have a number for each row of each head/],
    [[map(1)], { queries: ['a'], columns: 0 }, /columns must be a whole number above 0/],
  ])('refuses what does not fit: %#', (heads, options, message) => {
    expect(() => svgHeadMaps(heads, options)).toThrow(message);
  });

  it('draws weights of any size, the smallest numbers there are too', () => {
    for (const weight of [1e-99, 1e-200, 5e-324]) {
      const heads = [[[weight, weight / 2]]];
      const tokens = { queries: ['a'], keys: ['b', 'c'] };
      checkXml(svgHeadMaps(heads, tokens));
      expect(textHeadMaps(heads, { ...tokens, width: 80 }).lines).toHaveLength(5);
    }
  });
});

/** Throws unless the text is one element, well-formed: tags nest, attributes are quoted once, nothing is unescaped. */
function checkXml(xml: string): void {
  const entity = '&#\\d+;';
  const attribute = new RegExp(`^\\s+([\\w-]+)="(?:[^"&<]|${entity})*"`);
  const open: string[] = [];
  for (const [part] of xml.trim().matchAll(/<[^>]*>|[^<]+|</g)) {
    if (!part.startsWith('<')) {
      if (open.length === 0 || !new RegExp(`^(?:[^&<>]|${entity})*$`).test(part))
        throw new Error(`text: ${part}`);
      continue;
    }
    const [, closes, name, rest, empty] = part.match(/^<(\/?)([a-z]\w*)((?:\s[^>]*?)?)(\/?)>$/i) ?? [];
    if (!name) throw new Error(`tag: ${part}`);
    if (closes && open.pop() !== name) throw new Error(`closes nothing: ${part}`);
    const names: string[] = [];
    let left = rest!;
    for (let match = left.match(attribute); match; match = left.match(attribute)) {
      names.push(match[1]!);
      left = left.slice(match[0].length);
    }
    if (left.trim() !== '' || new Set(names).size !== names.length) throw new Error(`attributes: ${part}`);
    if (!closes && !empty) open.push(name);
  }
  if (open.length > 0) throw new Error(`left open: ${open}`);
  const illegal = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
  if (illegal.test(xml)) throw new Error('a letter that XML cannot hold');
}
