// What the place written to can show.

export interface Terminal {
  readonly width: number;
  readonly color: boolean;
}

/** A file has no width: four maps of a short sentence with their values fit this one. */
const fileWidth = 132;
const leastWidth = 40;

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** `COLUMNS`, `NO_COLOR` and `FORCE_COLOR` overrule what the stream says of itself. */
export function describeTerminal(output: Output, env: NodeJS.ProcessEnv): Terminal {
  const columns = Number.parseInt(env.COLUMNS ?? '', 10);
  const width = columns > 0 ? columns : (output.isTTY && output.columns) || fileWidth;
  const capable = output.isTTY === true && env.TERM !== 'dumb';
  return {
    width: Math.max(leastWidth, width),
    color: !env.NO_COLOR && (capable || Boolean(env.FORCE_COLOR)),
  };
}

/** A line of prose broken at spaces. Lines with colors are left alone: their escapes have no width. */
export function wrapText(line: string, width: number): string[] {
  if (line.length <= width || line.includes('\x1b')) return [line];
  const lines: string[] = [];
  let current = '';
  for (const [n, word] of line.split(' ').entries()) {
    const longer = n === 0 ? word : `${current} ${word}`;
    const breaks = longer.length > width && current.trim() !== '';
    if (breaks) lines.push(current);
    current = breaks ? word : longer;
  }
  return [...lines, current];
}
