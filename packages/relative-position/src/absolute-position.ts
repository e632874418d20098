// Positions that are added to embeddings, before any layer.
import { ConfigError, type NamedVariable, ShapeError, type TokenPositions } from '@polyhead/core';
import { checkTensor } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { entriesOf, placesOf } from './token-places';

export interface AbsolutePosition {
  readonly config: object; // plain JSON
  readonly variables: readonly NamedVariable[];
  /**
   * @param embeddings [B, S, E]
   * @param at where tokens stand. Default: from 0 on
   * @returns [B, S, E]
   */
  addTo(embeddings: tf.Tensor3D, at?: TokenPositions): tf.Tensor3D;
  dispose(): void;
}

/**
 * Where the tokens of embeddings stand: [entries, S], with 1 entry where all of the batch stand alike.
 *
 * @throws ShapeError for embeddings of another rank, dtype or width, and positions that do not fit them; ConfigError for
 *   positions that are no whole numbers
 */
export function tokensOf(
  where: string,
  embeddings: tf.Tensor3D,
  { at = { start: [0] }, embedDim }: { readonly at: TokenPositions | undefined; readonly embedDim: number },
): { readonly places: Int32Array; readonly entries: number; readonly S: number } {
  checkTensor(where, 'embeddings', embeddings, ['[B, S, E]', { embedDim }]);
  checkWhole(where, at);
  const [B, S, E] = embeddings.shape;
  if (E !== embedDim)
    throw new ShapeError(where, 'embeddings must be embedDim wide', { embeddings, embedDim });
  const entries = entriesOf(where, at, [B, S]);
  return { places: placesOf(at, entries, S), entries, S };
}

/** @throws ConfigError unless positions are whole numbers of 32 bits */
function checkWhole(where: string, at: TokenPositions): void {
  const isObject = typeof at === 'object' && at !== null;
  const isStart = isObject && 'start' in at;
  const starts = isStart && Array.isArray(at.start) && at.start.every((start) => (start | 0) === start);
  if (starts || (isObject && !isStart && at.each instanceof Int32Array)) return;
  throw new ConfigError(where, 'positions must be { start: whole numbers } or { each: an Int32Array }', {
    positions: isStart ? at.start : at,
  });
}
