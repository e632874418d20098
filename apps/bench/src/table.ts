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
