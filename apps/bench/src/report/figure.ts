// A chart with its caption above, and its table below.

import type { LineChart } from '../page/chart';
import { type Html, html } from '../page/html';
import { lineChart } from '../page/line-chart';
import { foldedTable, type TableData, table } from '../page/table';

export interface ChartFigure {
  /** For links, and for whoever reads the page by program. */
  readonly id: string;
  readonly caption: Html;
  readonly chart: LineChart;
  readonly table: TableData;
}

export const chartFigure = ({ id, caption, chart, table: data }: ChartFigure): Html =>
  html`<figure id="${id}"><figcaption>${caption}</figcaption>
${lineChart(chart)}
${foldedTable(data)}</figure>`;

/** The table alone: of one length there is nothing to draw against. */
export const tableFigure = ({ id, caption, table: data }: ChartFigure): Html =>
  html`<figure id="${id}"><figcaption>${caption}</figcaption>
${table(data)}</figure>`;
