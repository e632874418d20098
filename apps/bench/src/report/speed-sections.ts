// Decoding and prefill against length, and how near both are to what the machine can do.
import type { MatrixResult, MeasuredCell, Phase } from '../matrix/result';
import { type Series, writeNumber, writeTokens } from '../page/chart';
import { type Html, html } from '../page/html';
import { threeDigits } from '../print/format-number';
import {
  baseLine,
  baseOf,
  linesOf,
  picturesOf,
  rateSeries,
  rateTable,
  rowsLine,
  rowsOf,
  turnsOf,
} from './cell-lines';
import { chartFigure, rowFigure } from './figure';

const busyNote =
  'Pale marks were measured while the machine was busy: ratios to them, marked ≈, are of processor time where one thread computed.';

export const decodeSection = (result: MatrixResult): Html => speedFigures(result, 'decode');

export const prefillSection = (result: MatrixResult): Html =>
  html`${speedFigures(result, 'prefill')}${rooflines(result)}`;

export const trainingSection = (result: MatrixResult): Html => speedFigures(result, 'training');

const lengthIs: Readonly<Record<Phase, string>> = {
  prefill: 'tokens of the prompt',
  decode: 'tokens in the cache',
  training: 'tokens of the text',
};

const rateIs: Readonly<Record<Phase, string>> = {
  prefill: 'of a prompt',
  decode: 'in decoding',
  training: 'in training',
};

function speedFigures(result: MatrixResult, phase: Phase): Html {
  const { lines, rows } = picturesOf(result.cells.filter((cell) => cell.phase === phase));
  return html`${result.layers.map((layer) => {
    const own = [...lines, ...rows].filter(([first]) => first!.layer === layer.name);
    return own.map((cells, n) => {
      const place = { phase, id: `${phase}-${layer.name}${n === 0 ? '' : `-${n + 1}`}` };
      return lines.includes(cells) ? linesFigure(result, cells, place) : rowsFigure(result, cells, place);
    });
  })}`;
}

interface Place {
  readonly phase: Phase;
  readonly id: string;
}

function linesFigure(result: MatrixResult, cells: readonly MeasuredCell[], { phase, id }: Place): Html {
  const lines = linesOf(cells, baseOf(cells));
  const title = titleOf(result, cells);
  const what = `tokens a second against ${lengthIs[phase]}`;
  const bound = phase === 'prefill' ? boundOf(result, lines[0]!.cells) : [];
  return chartFigure({
    id,
    caption: html`<b>${title}:</b> ${what}, medians with the tenth to the ninetieth percentile. Each line differs in one choice from ${baseLine(lines)}. ${bound.length > 0 ? 'Dashed: what the measured peak allows the first line.' : ''} ${cells.some(({ busy }) => busy) ? busyNote : ''}`,
    chart: {
      description: `${title}: ${what}, for ${lines.map(({ name }) => name).join(', ')}. The table below has the numbers.`,
      x: { name: lengthIs[phase], log: 2, write: writeTokens },
      y: { name: 'tokens a second', log: 10, write: writeNumber },
      series: [...rateSeries(lines, result), ...bound],
    },
    table: rateTable(`${title}: ${what}`, lines),
  });
}

function rowsFigure(result: MatrixResult, cells: readonly MeasuredCell[], { phase, id }: Place): Html {
  const { names, series, lines } = rowsOf(cells);
  const title = titleOf(result, cells);
  const what = `tokens a second ${rateIs[phase]}`;
  return rowFigure({
    id,
    caption: html`<b>${title}:</b> ${what}, medians with the tenth to the ninetieth percentile. In common: ${rowsLine(cells)}. ${cells.some(({ busy }) => busy) ? busyNote : ''}`,
    chart: {
      description: `${title}: ${what}, for ${names.join(', ')}. The table below has the numbers.`,
      axis: { name: 'tokens a second', log: 10, write: writeNumber },
      ...{ names, series },
    },
    table: rateTable(`${title}: ${what}`, lines),
  });
}

/** Layer and backend, where they are one, and the comparison; of a run without comparisons several sequences, too. */
function titleOf({ layers }: MatrixResult, cells: readonly MeasuredCell[]): string {
  const [first] = cells as [MeasuredCell];
  const isOne = (axis: 'layer' | 'backend') => cells.every((cell) => cell[axis] === first[axis]);
  const layer = layers.find(({ name }) => name === first.layer)!.title;
  const sequences = first.batch === 1 ? undefined : `${first.batch} sequences`;
  const turns = turnsOf(first)?.replace(`, ${first.phase}`, '') ?? sequences;
  const where = `${isOne('layer') ? layer : 'Layers'}${isOne('backend') ? ` on ${first.backend}` : ''}`;
  return turns === undefined || !isOne('layer') ? where : `${where}, ${turns}`;
}

interface Limits {
  readonly gflops: number;
  readonly gigabytesPerSecond: number;
}

const peakOf = ({ backends }: MatrixResult, { backend }: MeasuredCell): Limits | undefined =>
  backends.find(({ name }) => name === backend)?.peak;

/** The roofline over length: a call takes as long as its operations at the peak, or its bytes through memory. */
function boundOf(result: MatrixResult, cells: readonly MeasuredCell[]): Series[] {
  const marks = cells.flatMap(({ tokens, batch, flop, bytesMoved, ...cell }) => {
    const peak = peakOf(result, { ...cell, tokens, batch });
    if (!peak || flop === undefined || bytesMoved === undefined) return [];
    const seconds = Math.max(flop / peak.gflops, bytesMoved / peak.gigabytesPerSecond) / 1e9;
    return [{ x: tokens, y: (batch * tokens) / seconds }];
  });
  return marks.length < 2 ? [] : [{ name: 'the peak', marks, isDashed: true, hasNoDots: true, look: 6 }];
}

/** Operations a second against operations a byte (Williams et al. 2009), of each backend whose peak was measured. */
function rooflines(result: MatrixResult): Html {
  return html`${result.backends.map(({ name, peak }) => {
    const cells = result.cells.filter(
      (cell) =>
        cell.backend === name &&
        cell.gflops !== undefined &&
        cell.flop !== undefined &&
        cell.bytesMoved !== undefined,
    );
    if (!peak || cells.length === 0) return undefined;
    const intensity = ({ flop, bytesMoved }: MeasuredCell) => flop! / bytesMoved!;
    const all = cells.map(intensity);
    const ridge = peak.gflops / peak.gigabytesPerSecond;
    const [from, to] = [Math.min(...all, ridge / 2), Math.max(...all, ridge * 2)];
    const roof = [from, ridge, to].map((x) => ({ x, y: Math.min(peak.gflops, x * peak.gigabytesPerSecond) }));
    const series: Series[] = (['prefill', 'decode', 'training'] as const).flatMap((phase, look): Series[] => {
      const marks = cells
        .filter((cell) => cell.phase === phase)
        .map((cell) => ({
          x: intensity(cell),
          y: cell.gflops!,
          hint: describe(cell),
          ...(cell.busy && { isUnsure: true as const }),
        }))
        .sort((a, b) => a.x - b.x);
      return marks.length === 0 ? [] : [{ name: phase, look, isScattered: true, marks }];
    });
    return chartFigure({
      id: `roofline-${name}`,
      caption: html`<b>How near to the peak, on ${name}:</b> 10⁹ operations a second against operations for each byte that must move. Under the slope memory is the limit, under the flat line arithmetic: ${threeDigits(peak.gflops)} GFLOP/s and ${threeDigits(peak.gigabytesPerSecond)} GB/s were measured in this run (${peak.how}).`,
      chart: {
        description: `Roofline of ${name}: decoding lies under the slope of memory, prefill under the flat line of arithmetic. The table below has the numbers.`,
        x: { name: 'operations a byte', log: 10, write: writeNumber },
        y: { name: 'GFLOP/s', log: 10, write: writeNumber },
        series: [{ name: '', marks: roof, look: 6, isDashed: true, hasNoDots: true }, ...series],
      },
      table: {
        caption: `Share of the peak on ${name}`,
        head: ['what', 'operations a byte', 'GFLOP/s', 'of the peak', 'GB/s', 'of the bandwidth'],
        rows: cells.map((cell) => [
          describe(cell),
          { text: threeDigits(intensity(cell)), value: intensity(cell) },
          { text: threeDigits(cell.gflops!), value: cell.gflops! },
          shareCell(cell.shareOfPeak),
          cell.gigabytesPerSecond === undefined
            ? ''
            : { text: threeDigits(cell.gigabytesPerSecond), value: cell.gigabytesPerSecond },
          shareCell(cell.shareOfBandwidth),
        ]),
      },
    });
  })}`;
}

const shareCell = (share: number | undefined) =>
  share === undefined ? '' : { text: `${(100 * share).toFixed(0)} %`, value: share };

export function describe(cell: MeasuredCell): string {
  const { phase, layer, variant, ran, cache, position, tokens, batch } = cell;
  return [
    phase,
    layer,
    variant,
    ran,
    ...(cache === 'none' ? [] : [`${cache} cache`]),
    ...(position === 'none' ? [] : [position]),
    `${tokens.toLocaleString('en')} tokens`,
    ...(batch === 1 ? [] : [`batch ${batch}`]),
  ].join(', ');
}
