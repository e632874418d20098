// Attention maps as text: queries down, keys across, one map a head, as many beside each other as the width holds.

export interface HeatMapOptions {
  readonly labels: readonly string[]; // one a token
  readonly width: number; // columns of the terminal
  readonly color: boolean; // 256-colour backgrounds; without it block characters
}

export interface HeatMaps {
  readonly lines: readonly string[];
  /** Tokens drawn: the first ones, where the width does not hold all. */
  readonly drawn: number;
}

interface Layout {
  readonly perRow: number;
  readonly cell: number; // columns a weight: 4 shows its value, 2 and 1 only its shade
  readonly drawn: number;
  readonly labelWidth: number;
}

/** A weight's level counts the steps it reaches; steps are shares of the largest weight shown. */
const steps = [0.05, 0.2, 0.4, 0.7];
const blocks = [' ', '░', '▒', '▓', '█'];
const backgrounds = [233, 53, 90, 168, 216]; // dark violet to light orange: brightness grows, also in grey
const foregrounds = [248, 255, 255, 16, 16];
const maxLabel = 10;
const maxDrawn = 40;
const gap = 2;

/** `heads[h][i][j]`: weight of key j for query i. */
export function heatMaps(
  heads: readonly (readonly (readonly number[])[])[],
  options: HeatMapOptions,
): HeatMaps {
  const labels = options.labels.map((label) => [...label].map(narrow).slice(0, maxLabel).join(''));
  const layout = chooseLayout(labels, heads.length, options.width);
  const shown = labels.slice(0, layout.drawn);
  const visible = heads.map((rows) => rows.slice(0, layout.drawn).map((row) => row.slice(0, layout.drawn)));
  const largest = Math.max(...visible.flat(2));
  const lines: string[] = [];
  for (let first = 0; first < heads.length; first += layout.perRow) {
    const row = visible.slice(first, first + layout.perRow);
    const mapWidth = layout.drawn * layout.cell;
    const titles = row.map((_, i) => `head ${first + i + 1}`.slice(0, mapWidth).padEnd(mapWidth));
    lines.push(joinMaps('', titles, layout), ...keyLabels(shown, row.length, layout));
    for (const [i, label] of shown.entries()) {
      const cells = row.map((map) =>
        map[i]!.map((weight) => drawCell(weight, largest, layout.cell, options.color)).join(''),
      );
      lines.push(joinMaps(label, cells, layout));
    }
    lines.push('');
  }
  lines.push(legend(largest, options.color));
  return { lines, drawn: layout.drawn };
}

/** Four beside each other where cells can be 2 wide, else two, else one; the widest cells that fit. */
function chooseLayout(labels: readonly string[], heads: number, width: number): Layout {
  const labelWidth = Math.max(...labels.map((label) => [...label].length));
  const drawn = Math.min(labels.length, maxDrawn);
  const candidates = [4, 2, 1].flatMap((perRow) =>
    [4, 2].map((cell) => ({ perRow: Math.min(perRow, heads), cell })),
  );
  const fits = ({ perRow, cell }: { perRow: number; cell: number }) =>
    labelWidth + 1 + perRow * drawn * cell + (perRow - 1) * gap <= width;
  const found = candidates.find(fits);
  if (found) return { ...found, drawn, labelWidth };
  return { perRow: 1, cell: 1, drawn: Math.max(1, Math.min(drawn, width - labelWidth - 1)), labelWidth };
}

function joinMaps(label: string, maps: readonly string[], { labelWidth }: Layout): string {
  return `${label.padStart(labelWidth)} ${maps.join(' '.repeat(gap))}`.trimEnd();
}

/** The keys' labels written downwards, each over its column. */
function keyLabels(labels: readonly string[], maps: number, layout: Layout): string[] {
  const letters = labels.map((label) => [...label]);
  const height = Math.max(...letters.map((label) => label.length));
  return Array.from({ length: height }, (_, line) => {
    const columns = letters.map((label) =>
      (label[line - height + label.length] ?? ' ').padStart((layout.cell >> 1) + 1),
    );
    const map = columns.map((column) => column.padEnd(layout.cell)).join('');
    return joinMaps('', new Array(maps).fill(map), layout);
  });
}

function drawCell(weight: number, largest: number, cell: number, color: boolean): string {
  const level = steps.filter((step) => weight >= step * largest).length;
  const block = color ? ' ' : blocks[level]!;
  const text = cell === 4 ? block + twoDecimals(weight) : block.repeat(cell);
  return color ? `\x1b[48;5;${backgrounds[level]}m\x1b[38;5;${foregrounds[level]}m${text}\x1b[0m` : text;
}

/** In three columns: `.07`, and `1.0`. */
const twoDecimals = (weight: number) => (weight >= 0.995 ? '1.0' : weight.toFixed(2).slice(1));

function legend(largest: number, color: boolean): string {
  const bounds = steps.map((step) => (step * largest).toFixed(2).replace(/^0/, ''));
  const swatches = steps.map((step, i) => `${drawCell(step * largest, largest, 1, color)} ${bounds[i]}`);
  return `weight from ${swatches.join('  ')}`;
}

/** A letter of one column: accents that stand alone and right-to-left letters would move their neighbours. */
const narrow = (letter: string) => (/[\p{M}\p{Script=Arabic}\p{Script=Hebrew}]/u.test(letter) ? '?' : letter);
