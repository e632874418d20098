// Where the program is, on stderr: one line that is rewritten on a terminal, plain lines elsewhere.

export interface Progress {
  /** A new stage. */
  stage(text: string): void;
  /** How far the stage is, and what else is to be said of that; only a terminal shows it. */
  advance(done: number, total: number, note?: string): void;
  /** The stage in other words, which only a terminal shows. */
  update?(text: string): void;
  /** Takes the line away, so that a result can be printed. */
  clear(): void;
}

interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const eraseLine = '\r\x1b[2K';

export function createProgress(stream: Stream): Progress {
  let current = '';
  let shown = false;
  const show = (text: string) => {
    shown = true;
    stream.write(eraseLine + text.slice(0, (stream.columns || 80) - 1));
  };
  return {
    stage: (text) => {
      current = text;
      if (stream.isTTY) show(text);
      else stream.write(`${text}\n`);
    },
    advance: (done, total, note = '') => {
      if (stream.isTTY) show(`${current}  ${done}/${total}  ${note}`.trimEnd());
    },
    update: (text) => {
      current = text;
      if (stream.isTTY) show(text);
    },
    clear: () => {
      if (shown) stream.write(eraseLine);
      shown = false;
    },
  };
}
