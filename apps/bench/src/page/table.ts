// Tables of a page: numbers to the right, the first column names the row.
import { Html, html } from './html';

/** What a cell shows, and the number that it stands for. */
export interface Cell {
  readonly text: string;
  readonly value?: number;
}

export interface TableData {
  /** Read out before it. */
  readonly caption: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | Cell)[])[];
}

/** Wider than its place it can be moved sideways, by keys too. */
export function table({ caption, head, rows }: TableData): Html {
  const isNumeric = head.map((_, column) => rows.some((row) => typeof row[column] === 'object'));
  const align = (column: number) => (isNumeric[column] ? new Html(' class="right"') : undefined);
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table>
<thead><tr>${head.map((name, n) => html`<th scope="col"${align(n)}>${name}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr>${row.map((cell, n) => {
    const { text, value } = typeof cell === 'string' ? { text: cell, value: undefined } : cell;
    if (n === 0) return html`<th scope="row"${align(n)}><bdi>${text}</bdi></th>`;
    const data = value === undefined ? undefined : html` data-value="${value}"`;
    return html`<td${align(n)}${data}><bdi>${text}</bdi></td>`;
  })}</tr>
`,
)}</tbody>
</table></div>`;
}

/** Folded away until it is asked for; on paper it is open. */
export const foldedTable = (data: TableData, summary = 'The numbers as a table'): Html =>
  html`<details><summary>${summary}</summary>${table(data)}</details>`;
