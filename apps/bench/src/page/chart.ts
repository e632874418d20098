// What a chart of lines over numbers is made of.

export interface Axis {
  readonly name: string;
  /** The base of a logarithmic axis; absent where it is linear. */
  readonly log?: 2 | 10;
  /** What must be within, beside the marks and rules. */
  readonly include?: readonly number[];
  /** A number as its tick says it. */
  write(value: number): string;
}

export interface Mark {
  readonly x: number;
  readonly y: number;
  /** The spread around y. */
  readonly low?: number;
  readonly high?: number;
  /** Written beside it. */
  readonly label?: string;
  /** Shown where the pointer rests. Default: its numbers. */
  readonly hint?: string;
  /** Pale. */
  readonly isUnsure?: true;
  /** More of its numbers, for `data-…`. */
  readonly data?: Readonly<Record<string, number>>;
}

/** Marks at points. */
export const marksAt = (points: readonly (readonly [x: number, y: number])[]): readonly Mark[] =>
  points.map(([x, y]) => ({ x, y }));

export interface Series {
  readonly name: string;
  readonly marks: readonly Mark[];
  /** Of its color and shape; by default its place in the list. */
  readonly look?: number;
  /** Not joined by a line. */
  readonly isScattered?: true;
  readonly isDashed?: true;
  /** Computed for so many lengths that dots would say nothing. */
  readonly hasNoDots?: true;
}

/** A line across at a number that matters. */
export interface Rule {
  readonly at: number;
  readonly axis: 'x' | 'y';
  readonly name: string;
}

export interface LineChart {
  /** What a screen reader says in place of the picture. */
  readonly description: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  readonly rules?: readonly Rule[];
  /** Names stand beside the lines, unless labels say enough. Default: true. */
  readonly namesLines?: false;
}

/** Pixels. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number; // of the plot, from the left
  readonly top: number;
  readonly bottom: number; // of the plot, from the top
}

export interface Scale {
  (value: number): number;
  ticks(count: number): number[];
  domain(): number[];
}

/** A chart as it is drawn. */
export interface Drawing {
  readonly chart: LineChart;
  readonly frame: Frame;
  readonly x: Scale;
  readonly y: Scale;
}

/** Of the 12 pixel text: pixels of a letter, on average. */
export const letter = 6.8;
export const boldLetter = 7.4;
export const lineHeight = 15;

/** Pixels of the widest. */
export const widest = (texts: readonly string[], wide = letter) =>
  wide * Math.max(1, ...texts.map((text) => [...text].length));

/** On axes and in hints: 30, 0.5, 1,500. */
export const writeNumber = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });

/** Tokens on an axis: 1,024 and 64k. */
export const writeTokens = (tokens: number) =>
  tokens >= 8192 && tokens % 1024 === 0 ? `${tokens / 1024}k` : tokens.toLocaleString('en');

/** Places to a tenth of a pixel. */
export const px = (value: number) => Number(value.toFixed(1));
