// Decoding and prefill against length, and how near both are to what the machine can do.
import type { MatrixResult, MeasuredCell, Phase } from '../matrix/result';
import { type Series, writeNumber, writeTokens } from '../page/chart';
import { type Html, html } from '../page/html';
import { threeDigits } from '../print/format-number';
import {
  baseLine,
  baseOf,
  cellsOf,
  lengthsIn,
  linesOf,
  overLengths,
  rateSeries,
  rateTable,
  turnsOf,
} from './cell-lines';
import { chartFigure, tableFigure } from './figure';

const busyNote = 'Pale marks were measured while the machine was busy.';

export const decodeSection = (result: MatrixResult): Html => speedFigures(result, 'decode');

export const prefillSection = (result: MatrixResult): Html =>
  html`${speedFigures(result, 'prefill')}${rooflines(result)}`;

function speedFigures(result: MatrixResult, phase: Phase): Html {
  return html`${result.layers.map((layer) => {
    const cells = cellsOf(result, layer.name, phase);
    if (cells.length === 1 && result.cells.length > 1) return undefined; // nothing stands beside it
    return overLengths(cells).map((group, n) => speedFigure(result, group, { layer, phase, n }));
  })}`;
}

interface Place {
  readonly layer: MatrixResult['layers'][number];
  readonly phase: Phase;
  /** Among the pictures of the layer. */
  readonly n: number;
}

function speedFigure(result: MatrixResult, cells: readonly MeasuredCell[], { layer, phase, n }: Place): Html {
  const base = baseOf(cells);
  const lines = linesOf(cells, base);
  const x = phase === 'decode' ? 'tokens in the cache' : 'tokens of the prompt';
  const what = `tokens a second against ${x}`;
  const turns = turnsOf(cells[0]!);
  const title = turns === undefined ? layer.title : `${layer.title}, ${turns.replace(`, ${phase}`, '')}`;
  const bound = phase === 'prefill' ? boundOf(result, lines[0]!.cells) : [];
  const isLong = lengthsIn(cells).size > 1;
  return (isLong ? chartFigure : tableFigure)({
    id: `${phase}-${layer.name}${n === 0 ? '' : `-${n + 1}`}`,
    caption: html`<b>${title}:</b> ${what}, medians with the tenth to the ninetieth percentile. Each line differs in one choice from ${baseLine(base, cells)}. ${isLong && bound.length > 0 ? 'Dashed: what the measured peak allows the first line.' : ''} ${isLong && cells.some(({ busy }) => busy) ? busyNote : ''}`,
    chart: {
      description: `${title}: ${what}, for ${lines.map(({ name }) => name).join(', ')}. The table below has the numbers.`,
      x: { name: x, log: 2, write: writeTokens },
      y: { name: 'tokens a second', log: 10, write: writeNumber },
      series: [...rateSeries(lines, result), ...bound],
    },
    table: rateTable(`${title}: ${what}`, lines),
  });
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
