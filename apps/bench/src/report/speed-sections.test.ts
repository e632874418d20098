// What was measured is drawn, on whichever backends.
import { describe, expect, it } from 'vitest';
import { cellLike } from '../matrix/fixtures/cell';
import type { MeasuredCell } from '../matrix/result';
import { fullResult } from './fixtures/full-result';
import { decodeSection, prefillSection, trainingSection } from './speed-sections';

const result = fullResult(['tensorflow', 'wasm', 'cpu']);
const text = [decodeSection, prefillSection, trainingSection].map((of) => of(result).text).join('');
const figures = [...text.matchAll(/<figure id="([^"]*)">(.*?)<\/figure>/gs)].map(([, id, body]) => ({
  id: id!,
  caption: /<figcaption>(.*?)<\/figcaption>/s.exec(body!)![1]!,
  body: body!,
}));
const numbersOf = (body: string, attribute: string) =>
  [...body.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => Number(value));
const hasMark = (body: string, cell: MeasuredCell) =>
  body.includes(` data-x="${cell.tokens}" data-y="${cell.tokensPerSecond}"`) ||
  body.includes(` data-x="${cell.tokensPerSecond}"`);
const drawn = result.cells.filter((cell) => figures.some(({ body }) => hasMark(body, cell)));

describe('the full matrix on several backends', () => {
  it('is drawn whole: each combination of choices, in each phase', () => {
    const placeOf = ({ phase, layer, batch, variant, position, kernel, cache, backend }: MeasuredCell) =>
      [phase, layer, batch, variant, position, kernel, cache, backend].join(', ');
    const places = new Set(drawn.map(placeOf));
    expect(result.cells.map(placeOf).filter((place) => !places.has(place))).toEqual([]);
  });

  it('each picture says its backend, or has several', () => {
    const names = result.backends.map(({ name }) => name);
    for (const { caption, body } of figures) {
      const isNamed = names.some((name) => caption.includes(`on ${name}`));
      const rows = new Set([...body.matchAll(/data-(?:row|series)="([^"]*)"/g)].map(([, name]) => name));
      expect([caption, isNamed || names.every((name) => rows.has(name))]).toEqual([caption, true]);
    }
  });

  it('backends stand side by side in each phase, with the numbers of the result', () => {
    for (const phase of ['prefill', 'decode', 'training']) {
      const cells = result.cells.filter((cell) => cell.turns === `backends, ${phase}`);
      const { body } = figures.find(
        ({ id, caption }) => id.startsWith(phase) && caption.includes('backends'),
      )!;
      const [wide, narrow] = body.split('<div class="narrow">');
      for (const part of [wide!, narrow!.split('<details>')[0]!]) {
        const row = ({ backend, tokensPerSecond }: MeasuredCell) =>
          `data-row="${backend}" data-series="" data-x="${tokensPerSecond}"`;
        for (const cell of cells) expect(part).toContain(row(cell));
        expect(numbersOf(part, 'data-x')).toHaveLength(cells.length);
        const ends = cells.map(({ tokensPerSecond, time }) => (tokensPerSecond * time.median) / time.p90);
        expect(numbersOf(part, 'data-low').sort()).toEqual(ends.sort());
      }
    }
  });

  it('kernels that one backend alone has are drawn, each by its name', () => {
    const { body } = figures.find(({ caption }) => caption.includes('kernels of wasm'))!;
    const rows = new Set([...body.matchAll(/data-row="([^"]*)"/g)].map(([, name]) => name));
    expect([...rows]).toEqual([
      'best: flashWasm',
      ...['composed', 'flash cpu', 'flash plain', 'flash relaxed', 'flash threads'],
    ]);
  });

  it('two axes of one length: one by rows, one by colors', () => {
    const { body } = figures.find(({ caption }) => caption.includes('kernels and positions'))!;
    const cells = result.cells.filter(({ turns }) => turns === 'kernels and positions, prefill');
    const [wide] = body.split('<div class="narrow">');
    const marks = [...wide!.matchAll(/data-row="([^"]*)" data-series="([^"]*)" data-x="([^"]*)"/g)];
    expect(marks).toHaveLength(cells.length);
    for (const { position, kernel, tokensPerSecond } of cells) {
      const [, row, series] = marks.find(([, , , x]) => Number(x) === tokensPerSecond)!;
      expect(row).toBe(position === 'none' ? 'no positions' : position);
      expect(series).toBe(kernel === 'best' ? 'best: composed' : kernel);
    }
  });
});

it('marks of a busy machine are pale, and their ratios marked', () => {
  const cells = [cellLike(), cellLike({ cache: 'growing', busy: true, ms: 20, processorTime: 9 })];
  const { text: page } = decodeSection({
    ...result,
    cells,
    layers: [{ ...result.layers[0]!, name: 'llama-2-7b' }],
  });
  expect(page.match(/opacity="0.4"/g)).toHaveLength(2);
  expect(page).toContain('≈0.50\u00a0×');
  expect(page).toContain('Pale marks');
});

it('pictures of a run without comparisons are told apart by their sequences', () => {
  const cells = [1, 4].flatMap((batch) =>
    ['multi-head', 'grouped-8'].flatMap((variant) =>
      [256, 1024].map((tokens) => cellLike({ variant, tokens, batch, tokensPerSecond: batch * tokens })),
    ),
  );
  const layers = [{ ...result.layers[0]!, name: 'llama-2-7b', title: 'Llama' }];
  const { text: page } = decodeSection({ ...result, cells, layers });
  const titles = [...page.matchAll(/<figcaption><b>(.*?):</g)].map(([, title]) => title);
  expect(titles).toEqual(['Llama on wasm', 'Llama on wasm, 4 sequences']);
});
