// New rows out of others: how a cache grows, shrinks, and is copied for a kernel.
import type { CacheShape } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { assembleByOps } from './assemble-by-ops';
import { copyRows, type RowSource } from './copy-rows';
import { emptyRows, floatsOf, reachesFloats } from './floats';
import { type RowLayout, sum } from './row-layout';

/** Keys and values that lie alike. */
export interface KeyValueRows {
  readonly key: tf.Tensor2D; // [layout.rows, D]
  readonly value: tf.Tensor2D; // [layout.rows, Dv]
  readonly layout: RowLayout;
}

/** The first `counts[b]` tokens of each batch entry. */
export interface KeyValueSource extends Omit<RowSource, 'data'> {
  readonly key: tf.Tensor;
  readonly value: tf.Tensor;
}

/**
 * The tokens of each source behind those of the one before, in each head of each batch entry, then zeros where the
 * layout has more room. A copy wherever the sources could be written in place.
 */
export function assembleRows(
  { keySize, valueSize }: CacheShape,
  sources: readonly KeyValueSource[],
  layout: RowLayout,
): KeyValueRows {
  const assemble = reachesFloats() ? assembleInMemory : assembleByOps;
  const of = (name: 'key' | 'value', size: number) =>
    assemble(
      sources.map((source) => ({ ...source, data: source[name] })),
      layout,
      size,
    );
  return { ...tf.tidy(() => ({ key: of('key', keySize), value: of('value', valueSize) })), layout };
}

/** @returns [layout.rows, size] */
function assembleInMemory(sources: readonly RowSource[], layout: RowLayout, size: number): tf.Tensor2D {
  const data = emptyRows(layout.rows, size);
  const tokens = sum(sources.flatMap(({ counts }) => counts));
  if (tokens * layout.heads < layout.rows) floatsOf(data, data)[0].fill(0);
  let at = layout.first.map(() => 0);
  for (const source of sources) {
    copyRows(source, { data, layout, at });
    at = at.map((before, b) => before + source.counts[b]!);
  }
  return data;
}
