// Positions that are added to embeddings, before any layer.
import { type NamedVariable, ShapeError, type TokenPositions } from '@polyhead/core';
import { checkTensor, checkTokenPositions } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { entriesOf, numbersOf } from '../token-positions';

/** Adds a vector for its position to each token. */
export interface AbsolutePosition {
  /** Plain JSON, which makes the method again. */
  readonly config: object;
  /** What it trains. */
  readonly variables: readonly NamedVariable[];
  /**
   * @param embeddings [B, S, E]
   * @param at where the tokens are. Default: from 0 on
   * @returns [B, S, E]
   * @throws ShapeError, ConfigError for embeddings of another width, and positions that do not fit them
   */
  addTo(embeddings: tf.Tensor3D, at?: TokenPositions | null | undefined): tf.Tensor3D;
  /** Disposes what it owns; twice is once. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON(): object;
}

/**
 * The positions of the tokens of embeddings: [entries, S], with 1 entry where those of all batch entries are the same.
 *
 * @throws ShapeError for embeddings of another rank, dtype or width, and positions that do not fit them; ConfigError for
 *   positions that are no whole numbers
 */
export function tokensOf(
  where: string,
  embeddings: tf.Tensor3D,
  { at, embedDim }: { readonly at: TokenPositions | null | undefined; readonly embedDim: number },
): { readonly positions: Int32Array; readonly entries: number; readonly S: number } {
  checkTensor(where, 'embeddings', embeddings, ['[B, S, E]', { embedDim }]);
  const [B, S, E] = embeddings.shape;
  if (E !== embedDim)
    throw new ShapeError(where, 'embeddings must be embedDim wide', { embeddings, embedDim });
  const positions = at ?? { start: [0] };
  checkTokenPositions(where, 'positions', positions, [B, S]);
  const entries = entriesOf(positions, S);
  return { positions: numbersOf(positions, entries, S), entries, S };
}
