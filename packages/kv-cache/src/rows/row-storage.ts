// Where the rows of keys and values lie, and how they are gathered and written: a row is one token of one head of one
// batch entry.
import { type CacheShape, type KeyValuePart, type RowMatrix, ShapeError, type Span } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import {
  allColumns,
  clear,
  copyColumns,
  copyOf,
  emptyRows,
  joinColumns,
  type RowColumns,
  scatterColumns,
  writesInPlace,
} from './row-columns';

/** The rows of some tokens, wherever they lie: a part of a storage, or the heads that a layer gives. */
export interface TokenRows extends Pick<KeyValuePart, 'headStride' | 'runs'> {
  /** Where the numbers of keys stand in these rows. */
  readonly key: RowColumns;
  /** Where those of values stand. */
  readonly value: RowColumns;
}

/** Where rows shall lie in a new tensor [rows, size]. */
export interface RowLayout {
  /** Of the whole tensor. */
  readonly rows: number;
  /** Rows from one head to the next. */
  readonly headStride: number;
  /** The first row of head 0 of each batch entry: [B]. */
  readonly first: readonly number[];
}

/** [B, H, tokens]: space for as many tokens in every batch entry. */
export function equalLayout({ batch, heads }: CacheShape, tokens: number): RowLayout {
  const first = Array.from({ length: batch }, (_, b) => b * heads * tokens);
  return { rows: batch * heads * tokens, headStride: tokens, first };
}

/** [H, sum of lengths]: space for these tokens and no more, batch entries beside one another in each head. */
export function packedLayout({ heads }: CacheShape, lengths: readonly number[]): RowLayout {
  let headStride = 0;
  const first = lengths.map((length) => {
    headStride += length;
    return headStride - length;
  });
  return { rows: heads * headStride, headStride, first };
}

/** One run of rows in each batch entry: `counts[b]` tokens of a layout, behind `skipped[b]` others. */
export function runsIn(
  { first }: Pick<RowLayout, 'first'>,
  counts: readonly number[],
  skipped?: readonly number[],
): KeyValuePart['runs'] {
  return (b) => oneRun(first[b]! + (skipped?.[b] ?? 0), counts[b]!);
}

/** Written by hand: a token's call asks five times, and `Int32Array.of` takes as long as a check. */
function oneRun(first: number, count: number): Int32Array {
  const run = new Int32Array(count === 0 ? 0 : 2);
  run[0] = first;
  run[1] = count;
  return run;
}

/**
 * The rows of heads as a layer gives them.
 *
 * @param key [B, H, S, D]
 * @param value [B, H, S, Dv]
 * @param counts the first `counts[b]` tokens of each batch entry: [B]
 */
export function rowsOfHeads(key: tf.Tensor4D, value: tf.Tensor4D, counts: readonly number[]): TokenRows {
  const [B, H, S, D] = key.shape;
  const first = Array.from({ length: B }, (_, b) => b * H * S);
  return {
    key: { data: key, first: 0, size: D },
    value: { data: value, first: 0, size: value.shape[3] },
    headStride: S,
    runs: runsIn({ first }, counts),
  };
}

/**
 * The same rows with values that are columns of the keys.
 *
 * @param rows values [B, H, S, Dv], of which only the size is read
 * @param first the column where a value begins
 * @throws ShapeError where keys do not have so many columns
 */
export function valuesInKeys(where: string, { key, value, ...rows }: TokenRows, first: number): TokenRows {
  const { size } = value;
  if (first + size <= key.size) return { ...rows, key, value: { data: key.data, first, size } };
  const facts = { key: key.data, value: value.data, 'first column': first };
  throw new ShapeError(where, 'values must be columns of the keys', facts);
}

/** Spans of tokens in each batch entry, sorted and disjoint: [B]. */
export type TokenSpans = readonly (readonly Span[])[];

/** The same parts where they lie, those rows only that belong to the tokens inside the spans. */
export function selectTokens(parts: readonly KeyValuePart[], spans: TokenSpans): KeyValuePart[] {
  const before = spans.map(() => 0); // tokens in earlier parts
  return parts.map((part) => {
    const runs = spans.map((own, b) => {
      const all = part.runs(b);
      const selected = own.flatMap(([from, to]) => rowsWithin(all, [from - before[b]!, to - before[b]!]));
      before[b]! += tokensOf(part, b);
      return Int32Array.from(selected);
    });
    return { ...part, runs: (b) => runs[b]!.slice() };
  });
}

/** Runs of the tokens from the one to the other. */
function rowsWithin(runs: Int32Array, [from, to]: Span): number[] {
  const selected: number[] = [];
  for (let n = 0, token = 0; n < runs.length; n += 2) {
    const [first, count] = [runs[n]!, runs[n + 1]!];
    const [start, end] = [Math.max(from, token), Math.min(to, token + count)];
    if (start < end) selected.push(first + start - token, end - start);
    token += count;
  }
  return selected;
}

/**
 * The tokens of each source behind those of the one before, in each head of each batch entry, in new tensors, then zeros
 * where the layout has more space. Values that are columns of the keys stay so. Nothing else is left in memory.
 *
 * @param sources at least one
 * @param layout with space for all their tokens
 */
export function gatherRows(
  shape: CacheShape,
  sources: readonly TokenRows[],
  layout: RowLayout,
): KeyValuePart {
  const key = allColumns(gatherColumns(shape, sources, { layout, name: 'key' }));
  const counts = layout.first.map((_, b) => sources.reduce((sum, source) => sum + tokensOf(source, b), 0));
  const value = sources.every(valuesAreKeys)
    ? viewOf(key, sources[0]!)
    : allColumns(gatherColumns(shape, sources, { layout, name: 'value' }));
  return { key, value, headStride: layout.headStride, runs: runsIn(layout, counts) };
}

/**
 * The keys or the values of `gatherRows` alone; of rows of words the words, without their scales.
 *
 * @returns [layout.rows, size]
 */
export function gatherColumns(
  shape: CacheShape,
  sources: readonly TokenRows[],
  { layout, name }: { readonly layout: RowLayout; readonly name: 'key' | 'value' },
): tf.Tensor2D {
  return tf.tidy(() => {
    const columns = sources.map(({ [name]: own, headStride, runs }) => ({
      ...own,
      headStride,
      runs,
    }));
    return writesInPlace() ? copyInto(shape, columns, layout) : joinColumns(shape, columns, layout);
  });
}

function copyInto(
  shape: CacheShape,
  sources: Parameters<typeof joinColumns>[1],
  { rows, headStride, first }: RowLayout,
): tf.Tensor2D {
  const { size, data } = sources[0]!;
  const target = allColumns(emptyRows(rows, size, data.dtype));
  let skipped = first.map(() => 0);
  const counts = sources.map((source) => first.map((_, b) => tokensOf(source, b)));
  const tokens = counts.flat().reduce((sum, count) => sum + count, 0);
  if (tokens * shape.heads < rows) clear(target.data);
  sources.forEach((source, n) => {
    copyColumns(shape, source, { ...target, headStride, runs: runsIn({ first }, counts[n]!, skipped) });
    skipped = skipped.map((before, b) => before + counts[n]![b]!);
  });
  return target.data;
}

/**
 * The target with the source's tokens written over its own: the same tensors, where tensors can be written in place, else
 * new ones, by one scatter operation each. Values that are columns of the keys stay so.
 *
 * @param target its runs are the rows to write, as many as the source has
 */
export function writeRows(
  shape: CacheShape,
  source: TokenRows,
  target: Pick<KeyValuePart, 'key' | 'value' | 'headStride' | 'runs'>,
): Pick<KeyValuePart, 'key' | 'value'> {
  const write = (name: 'key' | 'value'): RowMatrix => {
    const { headStride, runs } = target;
    const [from, to] = [
      { ...source[name], headStride: source.headStride, runs: source.runs },
      { ...target[name], headStride, runs },
    ];
    if (!writesInPlace()) return { ...target[name], data: tf.tidy(() => scatterColumns(shape, from, to)) };
    copyColumns(shape, from, to);
    return target[name];
  };
  const key = write('key');
  return { key, value: valuesAreKeys(target) ? { ...target.value, data: key.data } : write('value') };
}

/** All rows in tensors that hold exactly them, as `packedLayout` has them; no part where there is no row. */
export function packRows(shape: CacheShape, sources: readonly TokenRows[]): readonly KeyValuePart[] {
  const total = (b: number) => sources.reduce((sum, source) => sum + tokensOf(source, b), 0);
  const lengths = Array.from({ length: shape.batch }, (_, b) => total(b));
  return Math.max(...lengths) === 0 ? [] : [gatherRows(shape, sources, packedLayout(shape, lengths))];
}

/** The same rows in tensors of their own. */
export function copyParts(parts: readonly KeyValuePart[]): readonly KeyValuePart[] {
  const copies = new Map([...tensorsOf(parts)].map((tensor) => [tensor, copyOf(tensor as tf.Tensor2D)]));
  const copied = ({ data, quantized, ...columns }: RowMatrix): RowMatrix => ({
    ...columns,
    data: copies.get(data)!,
    ...(quantized && {
      quantized: {
        ...quantized,
        scale: copies.get(quantized.scale)!,
        ...(quantized.zero && { zero: copies.get(quantized.zero)! }),
      },
    }),
  });
  return parts.map((part) => ({ ...part, key: copied(part.key), value: copied(part.value) }));
}

/** How many tokens of a batch entry the rows are. */
export function tokensOf({ runs }: Pick<TokenRows, 'runs'>, b: number): number {
  return runs(b).reduce((total, number, n) => (n % 2 === 1 ? total + number : total), 0);
}

/** Tensors made on the way are given back, and where memory ends all. */
export function inTidy(make: () => readonly KeyValuePart[]): readonly KeyValuePart[] {
  return tf.tidy(make as unknown as () => tf.TensorContainer) as unknown as readonly KeyValuePart[];
}

/** Each tensor that parts lie in, once. */
export function tensorsOf(parts: readonly KeyValuePart[]): Set<tf.Tensor> {
  const matrices = parts.flatMap(({ key, value }) => [key, value]);
  const tensors = matrices.flatMap(({ data, quantized }) => [data, quantized?.scale, quantized?.zero]);
  return new Set(tensors.filter((tensor) => tensor !== undefined));
}

/** The columns of new keys where the values of a source are in its own. */
function viewOf(key: RowMatrix, source: TokenRows): RowMatrix {
  return { data: key.data, first: source.value.first - source.key.first, size: source.value.size };
}

function valuesAreKeys({ key, value }: TokenRows): boolean {
  const isInside = value.first >= key.first && value.first + value.size <= key.first + key.size;
  return key.data === value.data && isInside && !key.quantized;
}
