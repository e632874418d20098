// Where the program's lines go.
import { createProgress, type Progress } from './progress';
import { describeTerminal, type Terminal, wrapText } from './terminal';

export interface Outlet {
  readonly terminal: Terminal;
  readonly progress: Progress;
  print(lines: readonly string[]): void;
  /** As it is, whatever the width of the terminal: for other programs, and for text that comes in pieces. */
  write(text: string): void;
  printError(text: string): void;
}

/** Results on stdout, progress on stderr. */
export function processOutlet({ stdout, stderr, env }: NodeJS.Process): Outlet {
  const progress = createProgress(stderr);
  const terminal = describeTerminal(stdout, env);
  return {
    terminal,
    progress,
    print: (lines) => {
      progress.clear();
      stdout.write(`${lines.flatMap((line) => wrapText(line, terminal.width)).join('\n')}\n`);
    },
    write: (text) => {
      progress.clear();
      stdout.write(text);
    },
    printError: (text) => stderr.write(`${text.trimEnd()}\n`),
  };
}
