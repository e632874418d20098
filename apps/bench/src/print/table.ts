// Aligned columns without lines.
import Table from 'cli-table3';

/** The first row is the head. Columns of `right` hold numbers and end together. */
export function alignColumns(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const none = [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
  ];
  const inner = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
  const table = new Table({
    chars: { ...Object.fromEntries([...none, ...inner].map((name) => [name, ''])), middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colAligns: (rows[0] ?? []).map((_, column) => (right.includes(column) ? 'right' : 'left')),
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

/**
 * The same as tables no wider than `width`, where one column fits: each repeats the first `kept` columns, and there are
 * as few as possible.
 */
export function alignWithin(
  width: number,
  rows: readonly (readonly string[])[],
  { right, kept = 1 }: { readonly right: readonly number[]; readonly kept?: number },
): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const wide = (columns: readonly number[]) => columns.reduce((sum, column) => sum + widths[column]! + 2, -2);
  const first = widths.map((_, column) => column).slice(0, kept);
  const tables: number[][] = [];
  for (const column of widths.keys()) {
    if (column < kept) continue;
    const last = tables.at(-1);
    if (last && wide([...last, column]) <= width) last.push(column);
    else tables.push([...first, column]);
  }
  return tables.flatMap((columns, n) => [
    ...(n > 0 ? [''] : []),
    ...alignColumns(
      rows.map((row) => columns.map((column) => row[column]!)),
      columns.flatMap((column, at) => (right.includes(column) ? [at] : [])),
    ),
  ]);
}
