// Every number of the page is one of the result that it was made from.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MatrixResult } from '../matrix/result';
import { exampleResult } from './fixtures/example-result';
import { reportPage } from './report-page';

const result = exampleResult();
const page = reportPage(result);

type Attributes = Readonly<Record<string, string>>;

/** Attributes of all elements of a figure that have this one. */
function marksOf(id: string, attribute: string): Attributes[] {
  const [, after] = page.split(`<figure id="${id}">`);
  const figure = after!.split('</figure>')[0]!;
  return [...figure.matchAll(/<\w+((?: [\w-]+="[^"]*")+)/g)]
    .map(([, list]) =>
      Object.fromEntries([...list!.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value])),
    )
    .filter((attributes) => attribute in attributes);
}

/** Each pair of numbers once; a chart is drawn for a page and for a phone. */
const pairsOf = (marks: readonly Attributes[], x = 'data-x', y = 'data-y') =>
  [...new Set(marks.map((mark) => `${mark[x]} ${mark[y]}`))].sort();

const sorted = (pairs: readonly (readonly [number, number])[]) =>
  [...new Set(pairs.map(([x, y]) => `${x} ${y}`))].sort();

describe('the numbers of pictures', () => {
  it('draws each chart for a page and for a phone, with the same marks', () => {
    for (const id of [
      'decode-gpt-2',
      'prefill-gpt-2',
      'memory-gpt-2',
      'roofline-wasm',
      'quality-1',
      'similarity',
      'sinks',
    ]) {
      const marks = marksOf(id, 'data-series');
      const half = marks.length / 2;
      const data = marks.map(({ transform: _, d: __, ...rest }) => rest);
      expect(half, id).toBeGreaterThan(1);
      expect(data.slice(0, half), id).toEqual(data.slice(half));
    }
  });

  it('decoding: tokens a second and their spread', () => {
    const marks = marksOf('decode-gpt-2', 'data-series');
    const cells = result.cells.filter(({ phase, batch }) => phase === 'decode' && batch === 1);
    const all = new Set(sorted(cells.map((cell) => [cell.tokens, cell.tokensPerSecond])));
    for (const pair of pairsOf(marks)) expect(all).toContain(pair);
    const variants = new Set(cells.map(({ variant }) => variant));
    const names = new Set(marks.map((mark) => mark['data-series']));
    for (const variant of variants) expect(names).toContain(variant);
    const ends = new Set(
      cells.map(
        ({ tokensPerSecond: rate, time }) =>
          `${(rate * time.median) / time.p90} ${(rate * time.median) / time.p10}`,
      ),
    );
    for (const pair of pairsOf(marksOf('decode-gpt-2', 'data-low'), 'data-low', 'data-high'))
      expect(ends).toContain(pair);
  });

  it('prefill: tokens a second, and no more than the peak allows', () => {
    const cells = result.cells.filter(({ phase }) => phase === 'prefill');
    const { gflops, gigabytesPerSecond } = result.backends[0]!.peak!;
    const rates = sorted(cells.map((cell) => [cell.tokens, cell.tokensPerSecond]));
    const bounds = sorted(
      cells.map(({ tokens, flop, bytesMoved }) => [
        tokens,
        tokens / (Math.max(flop! / gflops, bytesMoved! / gigabytesPerSecond) / 1e9),
      ]),
    );
    const all = new Set([...rates, ...bounds]);
    for (const pair of pairsOf(marksOf('prefill-gpt-2', 'data-series'))) expect(all).toContain(pair);
  });

  it('the roofline: each cell that was timed, at its intensity', () => {
    const marks = marksOf('roofline-wasm', 'data-series').filter((mark) => mark['data-series'] !== '');
    expect(pairsOf(marks)).toEqual(
      sorted(result.cells.map((cell) => [cell.flop! / cell.bytesMoved!, cell.gflops!])),
    );
  });

  it('memory: bytes of all layers, the end of memory, and where the weights are outweighed', () => {
    const layers = 12;
    const marks = marksOf('memory-gpt-2', 'data-series');
    const named = marks.filter((mark) => mark['data-series'] !== '');
    const all = new Set(
      sorted(
        result.memory.flatMap(({ bytes }) => bytes.map((one) => [one.tokens, layers * one.bytes] as const)),
      ),
    );
    for (const pair of pairsOf(named)) expect(all).toContain(pair);
    const crossings = marks
      .filter((mark) => mark['data-series'] === '')
      .map((mark) => Number(mark['data-x']));
    expect(new Set(crossings)).toEqual(new Set(result.memory.map(({ outweighsFrom }) => outweighsFrom)));
    const ends = marksOf('memory-gpt-2', 'data-y').filter((mark) => mark.class === 'rule');
    expect(new Set(ends.map((mark) => Number(mark['data-y'])))).toEqual(
      new Set([4 * 2 ** 30, result.machine.memoryBytes]),
    );
  });

  it('quality: bytes and perplexity, cosine and heads', () => {
    const [quality] = result.quality!;
    const [, ...changed] = quality!.points;
    expect(pairsOf(marksOf('quality-1', 'data-series'), 'data-x', 'data-perplexity')).toEqual(
      sorted(changed.map(({ bytes, perplexity }) => [bytes, perplexity])),
    );
    expect(pairsOf(marksOf('similarity', 'data-series'))).toEqual(
      sorted(
        result.study!.layers.flatMap(({ variants }) =>
          variants.map(
            ({ cacheBytesPerToken, similarity }) => [cacheBytesPerToken, similarity.mean] as const,
          ),
        ),
      ),
    );
  });

  it('trained decoders: bytes and bits a byte', () => {
    expect(pairsOf(marksOf('trained', 'data-series'))).toEqual(
      sorted(result.trained!.points.map(({ bytesPerToken, heldOut }) => [bytesPerToken, heldOut])),
    );
  });

  it('maps: each weight, to six digits', () => {
    const drawn = [...page.matchAll(/data-weight="([^"]*)"/g)].map(([, weight]) => weight);
    const weights = result.maps!.flatMap(({ heads }) =>
      heads.flat(2).map((weight) => `${Number(weight.toPrecision(6))}`),
    );
    expect(drawn).toHaveLength(2 * weights.length);
    expect(new Set(drawn)).toEqual(new Set(weights));
  });
});

describe('the numbers of tables', () => {
  it('are numbers of the result, or follow from two of them', () => {
    const known = new Set<number>();
    collect(result, known);
    for (const { bytes } of result.memory) {
      for (const one of bytes) known.add(12 * one.bytes);
      known.add((12 * bytes.at(-1)!.bytes) / bytes.at(-1)!.tokens);
    }
    for (const { flop, bytesMoved } of result.cells) known.add(flop! / bytesMoved!);
    const values = [...page.matchAll(/<(?:td|span)[^>]* data-value="([^"]*)"/g)].map(([, value]) =>
      Number(value),
    );
    expect(values.length).toBeGreaterThan(500);
    expect(values.filter((value) => !known.has(value))).toEqual([]);
  });
});

function collect(value: unknown, known: Set<number>): void {
  if (typeof value === 'number') known.add(value);
  else if (typeof value === 'object' && value !== null)
    for (const part of Object.values(value)) collect(part, known);
}

describe('the first line', () => {
  const lead = (changed: Partial<MatrixResult>) =>
    /<p class="lead">(.*?)<\/p>/.exec(reportPage({ ...result, ...changed }))![1]!;

  it('says what to take, and what that brings', () => {
    const { kernel, heads } = result.brought!;
    const faster = (kernel!.from.milliseconds / heads!.to.milliseconds).toFixed(2);
    expect(lead({})).toBe(
      'Take the flashWasm kernel, the static cache, and a model with 6 key/value heads instead of 12: ' +
        `a token comes ${faster} times as fast as with composed and 12 heads, in 50\u00a0% of the cache.`,
    );
  });

  it('claims nothing that was not measured', () => {
    const { kernel: _, heads: __, storage: ___, ...rest } = result.brought!;
    expect(lead({ brought: rest })).toMatch(/^Take what you have/);
    const { brought: ____, ...none } = result;
    expect(/<p class="lead">(.*?)<\/p>/.exec(reportPage(none))![1]).toBe('Nothing was compared in this run.');
  });

  it('warns of a busy machine', () => {
    expect(page).not.toContain('The machine was busy');
    const load = { ...result.load, busy: true, processorShare: 0.61 };
    expect(reportPage({ ...result, load })).toContain(
      'The machine was busy: this run had 61\u00a0% of a processor',
    );
  });
});

it('names sinks of heads', () => {
  expect(page).toMatch(/the first token, “The”, \d\d/);
});

it('escapes whatever a result holds', () => {
  const hostile = '<script>alert(1)</script>\u0000\u202e"\'';
  const changed = JSON.parse(
    JSON.stringify(result).replaceAll('A processor that was made up', JSON.stringify(hostile).slice(1, -1)),
  ) as MatrixResult;
  const cells = changed.cells.map((cell) => ({
    ...cell,
    variant: cell.variant === 'grouped-6' ? hostile : cell.variant,
  }));
  const text = reportPage({
    ...changed,
    cells,
    layers: changed.layers.map((layer) => ({ ...layer, title: hostile })),
  });
  expect(text).not.toContain('<script');
  for (const letter of ['\u0000', '\u202e']) expect(text).not.toContain(letter);
  expect(text).toContain('&#60;script&#62;alert(1)&#60;/script&#62;␀�&#34;&#39;');
});

it('is whole where only some was measured', () => {
  const { maps: _, sinks: __, quality: ___, study: ____, ...few } = result;
  const text = reportPage({
    ...few,
    cells: few.cells.slice(0, 1),
    memory: [],
    absent: [],
    backends: few.backends.map(({ peak: _____, ...rest }) => rest),
  });
  expect(text).not.toContain('NaN');
  expect(text).not.toContain('undefined');
  expect(text).not.toContain('Infinity');
});

it('fetches nothing', () => {
  expect(page).toContain('default-src &#39;none&#39;');
  expect(page.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(
    /(?:src|href)="(?!#)|url\(|@import|https?:/,
  );
});

it('is kept small', () => {
  expect(page.length).toBeLessThan(2_000_000);
  expect(readFileSync(new URL('./fixtures/heads.json', import.meta.url)).length).toBeLessThan(60_000);
});
