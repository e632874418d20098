// Rows of spans, written one after another into arrays that a kernel reads.
import { ShapeError } from '../contract/errors';
import type { Span } from '../contract/mask';

// A kernel tests each span of a row for each tile of keys: rows of more are a tensor of pairs.
const mostSpans = 8;
const mostRows = 2 ** 27; // 1 GiB of spans

export interface WrittenRows {
  readonly width: number;
  /** [rows, width, 2]; with pairs one span a row, from its first key to its last. */
  readonly spans: Int32Array;
  /** [rows, keys] of 0 and 1, where some row has many spans. */
  readonly pairs?: Uint8Array | undefined;
  readonly visible: number;
}

/**
 * Takes rows in order. Spans stay spans while each row has few of them. At the first row of many, all that was written
 * becomes one byte for each pair: never much more than the mask as a tensor.
 */
export class PlanRows {
  readonly #rows: number;
  readonly #keys: number;
  #width = 1;
  #spans: Int32Array;
  #pairs: Uint8Array | undefined;
  #written = 0;
  #visible = 0;

  /** @throws ShapeError where they do not fit into memory */
  constructor(rows: number, keys: number) {
    if (rows > mostRows) tooLarge(rows, keys);
    this.#rows = rows;
    this.#keys = keys;
    this.#spans = this.#allocate(Int32Array, rows * 2);
  }

  /**
   * Writes the next row.
   *
   * @param spans sorted and disjoint
   * @param first what is column 0 in their numbers
   */
  add(spans: readonly Span[], first: number): void {
    if (!this.#pairs && spans.length > this.#width) this.#widen(spans.length);
    const at = this.#written * this.#width * 2;
    if (this.#pairs) {
      this.#visible += show(this.#pairs, this.#written * this.#keys - first, spans);
      if (spans.length > 0) this.#write(at, spans[0]![0] - first, spans.at(-1)![1] - first);
    } else {
      for (let n = 0; n < spans.length; n++) {
        const [from, to] = [spans[n]![0] - first, spans[n]![1] - first];
        this.#write(at + n * 2, from, to);
        this.#visible += to - from;
      }
    }
    this.#written++;
  }

  finish(): WrittenRows {
    return { width: this.#width, spans: this.#spans, visible: this.#visible, pairs: this.#pairs };
  }

  #write(at: number, from: number, to: number): void {
    this.#spans[at] = from;
    this.#spans[at + 1] = to;
  }

  #widen(count: number): void {
    const [spans, width] = [this.#spans, this.#width];
    if (count > mostSpans) this.#pairs = this.#allocate(Uint8Array, this.#rows * this.#keys);
    this.#width = this.#pairs ? 1 : count;
    this.#spans = this.#allocate(Int32Array, this.#rows * this.#width * 2);
    for (let row = 0; row < this.#written; row++) {
      const own = spans.subarray(row * width * 2, (row + 1) * width * 2);
      if (this.#pairs) this.#showWritten(row, own);
      else this.#spans.set(own, row * this.#width * 2);
    }
  }

  #showWritten(row: number, own: Int32Array): void {
    const spans = Array.from({ length: own.length / 2 }, (_, n): Span => [own[n * 2]!, own[n * 2 + 1]!]);
    const visible = spans.filter(([from, to]) => from < to);
    show(this.#pairs!, row * this.#keys, visible);
    if (visible.length > 0) this.#write(row * 2, visible[0]![0], visible.at(-1)![1]);
  }

  #allocate<T extends Int32Array | Uint8Array>(type: new (length: number) => T, length: number): T {
    try {
      return new type(length);
    } catch {
      return tooLarge(this.#rows, this.#keys); // a RangeError, which would not say of what
    }
  }
}

/**
 * Sets the bytes of a row, and counts them.
 *
 * @param origin where column 0 of the spans' numbers is
 */
function show(pairs: Uint8Array, origin: number, spans: readonly Span[]): number {
  let visible = 0;
  for (let n = 0; n < spans.length; n++) {
    const [from, to] = [spans[n]![0], spans[n]![1]];
    visible += to - from;
    if (to - from > 16) pairs.fill(1, origin + from, origin + to);
    else for (let column = from; column < to; column++) pairs[origin + column] = 1;
  }
  return visible;
}

function tooLarge(rows: number, keys: number): never {
  throw new ShapeError('attend', 'the mask of so many rows and keys does not fit into memory', {
    'rows of the mask': rows,
    keys,
  });
}
