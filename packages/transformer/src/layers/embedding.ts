// Vectors of tokens, and the same table as the head that scores tokens.
import { ShapeError } from '@polyhead/core';
import { backendTraits, differentiable } from '@polyhead/core/kernel';
import { checkSizes, checkTensor, normalizeOptions, project } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { Layer, type LayerParts } from './layer';

/** Describes an `Embedding`. Plain JSON. */
export interface EmbeddingConfig {
  /** V, how many tokens there are. */
  readonly vocabularySize: number;
  /** E, the width of a vector. */
  readonly embedDim: number;
  /** Same config and name, same start. Without it each layer starts differently. */
  readonly seed?: number | undefined;
}

const kind = 'Embedding';

/** The variable `table`, [V, E]: a row for each token. It trains on every backend. */
export class Embedding extends Layer<EmbeddingConfig> {
  /** Its name in JSON. */
  static readonly kind = kind;

  /** @throws ConfigError for options that cannot be */
  constructor(config: EmbeddingConfig, parts: LayerParts = {}) {
    const known = normalizeOptions(kind, 'config', config, [
      'vocabularySize',
      'embedDim',
      'seed',
    ]) as EmbeddingConfig;
    const { vocabularySize, embedDim } = known;
    checkSizes(kind, { vocabularySize, embedDim });
    super({ kind, config: known, parts, shapes: { table: [vocabularySize, embedDim] }, tables: ['table'] });
  }

  /**
   * The rows of tokens.
   *
   * @param ids [B, S], int32
   * @returns [B, S, E]
   * @throws ShapeError for tokens outside the table, where the backend can be read without waiting
   */
  apply(ids: tf.Tensor): tf.Tensor3D {
    checkTensor(kind, 'ids', ids, ['[B, S]', {}, 'int32']);
    checkRange(ids, this.config.vocabularySize);
    const [B, S] = ids.shape as [number, number];
    const table = this.weights.matrix('table');
    return tf.tidy(() => {
      const tokens = tf.reshape(ids, [B * S]);
      const rows = table instanceof tf.Tensor ? rowsOf(table, tokens) : table.toFloats(tokens.dataSync());
      return tf.reshape(rows, [B, S, this.config.embedDim]);
    });
  }

  /**
   * The score of each token: x tableᵀ, computed from the table as it lies.
   *
   * @param x [B, S, E]
   * @returns [B, S, V]
   * @throws ShapeError for another width
   */
  logits(x: tf.Tensor): tf.Tensor3D {
    checkTensor(kind, 'x', x, ['[B, S, E]']);
    return project(x, this.weights.matrix('table'), undefined, { transposed: true });
  }
}

/**
 * Rows of a matrix by number. tfjs's own gradient of `gather` fails on wasm; `scatterND` sums where rows meet.
 *
 * @param table [R, N]
 * @param rows [n], int32
 * @returns [n, N]
 */
export function rowsOf(table: tf.Tensor, rows: tf.Tensor): tf.Tensor {
  const { shape } = table;
  const [n] = rows.shape as [number];
  return differentiable(
    { inputs: [table], constants: [rows] },
    ([x]) => (n === 0 ? tf.zeros([0, shape[1]!]) : tf.gather(x!, rows as tf.Tensor1D)),
    (gradient, _, [at]) => [
      n === 0 ? tf.zeros(shape) : tf.scatterND(tf.reshape(at!, [n, 1]), gradient, shape as [number, number]),
    ],
  );
}

function checkRange(ids: tf.Tensor, vocabularySize: number): void {
  if (!backendTraits().synchronousRead) return;
  const outside = (ids.dataSync() as Int32Array).find((id) => id < 0 || id >= vocabularySize);
  if (outside === undefined) return;
  throw new ShapeError(kind, 'ids must be tokens of the vocabulary', { id: outside, vocabularySize });
}
