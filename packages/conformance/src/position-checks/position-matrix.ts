// The combinations of position methods as a page to read: what passes, and what is refused with which reason.
import type { PositionCell } from './suite';

/** Markdown with counts; reasons are numbered at the end. */
export function positionMatrix(cells: readonly PositionCell[]): string {
  const reasons = distinct(cells.flatMap(({ refused }) => refused ?? []));
  const columns = distinct(cells.map(({ calls }) => calls));
  const rows = distinct(cells.map(nameOf)).map((name) => {
    const found = columns.map((calls) =>
      describe(
        cells.filter((cell) => nameOf(cell) === name && cell.calls === calls),
        reasons,
      ),
    );
    return [name, ...found];
  });
  const refused = cells.filter((cell) => cell.refused !== undefined).length;
  return [
    '# Position methods, tried',
    '',
    `${cells.length} combinations of method, variant, call and mask on each backend: ${cells.length - refused} give the`,
    `numbers of the definition, ${refused} are refused. A cell counts the masks that pass, or names the reason of a refusal.`,
    'The suite that tries them writes this page.',
    '',
    ...tableLines([['method, variant', ...columns], ...rows]),
    '',
    ...reasons.map((reason, n) => `${n + 1}. ${reason}`),
    '',
  ].join('\n');
}

const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
const nameOf = ({ method, variant }: PositionCell) => `${method} · ${variant}`;

function describe(cells: readonly PositionCell[], reasons: readonly string[]): string {
  if (cells.length === 0) return '';
  const [refused] = cells.flatMap((cell) => cell.refused ?? []);
  return refused === undefined ? `${cells.length}` : `refused (${reasons.indexOf(refused) + 1})`;
}

function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((text, n) => text.padEnd(widths[n]!)).join(' | ')} |`;
  const [head, ...body] = rows.map(line);
  return [head!, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body];
}
