// A picture with its caption above, and its table below.

import type { LineChart } from '../page/chart';
import { type Html, html } from '../page/html';
import { lineChart } from '../page/line-chart';
import { type RowChart, rowChart } from '../page/row-chart';
import { foldedTable, type TableData } from '../page/table';

interface Figure {
  /** For links, and for whoever reads the page by program. */
  readonly id: string;
  readonly caption: Html;
  readonly table: TableData;
}

export const chartFigure = ({ chart, ...figure }: Figure & { readonly chart: LineChart }): Html =>
  drawn(figure, lineChart(chart));

export const rowFigure = ({ chart, ...figure }: Figure & { readonly chart: RowChart }): Html =>
  drawn(figure, rowChart(chart));

const drawn = ({ id, caption, table }: Figure, picture: Html): Html =>
  html`<figure id="${id}"><figcaption>${caption}</figcaption>
${picture}
${foldedTable(table)}</figure>`;
