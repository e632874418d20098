// Relative positions of Transformer-XL (Dai et al. 2019, 1901.02860, section 3.3), bidirectional as in XLNet and Conformer:
//
//   score_ij = scale · ((q_i + u) · k_j + (q_i + v) · W r_{i-j}),   r the sinusoids of a distance
import { ConfigError, splitHeads } from '@polyhead/core';
import { addBroadcast, checkSizes, normalizeOptions, project, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { sinusoids } from './absolute/sinusoidal';
import { checkFlags, checkSeed } from './check-options';
import {
  type PositionParts,
  type TrainedPosition,
  trainedPosition,
  type VariablesByName,
} from './position-method';
import { widened } from './token-positions';

/** Biases of content and position, and projected sinusoids. */
export interface TransformerXLConfig {
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** D, the size of a head. */
  readonly headDim: number;
  /** Width of the sinusoids: even. Default: numHeads · headDim. */
  readonly embedDim?: number | undefined;
  /** Vectors for keys ahead too; false: those have no term, which halves the work under a causal mask. Default: true. */
  readonly bidirectional?: boolean | undefined;
  /** Sines and cosines alternate, as in Conformer; false: all sines, then all cosines. Default: false. */
  readonly interleaved?: boolean | undefined;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 'transformerXL';

/**
 * Biases of content and position, and a projection of the sinusoids of distances: the variables `contentBias` (u) and
 * `positionBias` (v), [Hq, D], and `kernel`, [embedDim, Hq · D].
 *
 * Memories of earlier segments are keys of the layer: `apply({ query: x, key: tf.concat([memories, x], 1) })`. Outside of
 * gradients the projected sinusoids are kept between calls, and made again when the kernel changes or distances grow.
 *
 * @throws ConfigError for options that cannot be
 */
export const transformerXL = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: TransformerXLConfig, parts: PositionParts = {}): TrainedPosition => {
    const config = checkTransformerXL(options);
    const { numHeads, headDim, embedDim = numHeads * headDim, bidirectional = true } = config;
    const shapes = {
      contentBias: [numHeads, headDim],
      positionBias: [numHeads, headDim],
      kernel: [embedDim, numHeads * headDim],
    };
    let remembered: RememberedVectors | undefined;
    const method = trainedPosition(
      where,
      { config, needs: { numHeads, headDim }, shapes, parts },
      (variables) => {
        remembered = new RememberedVectors({ ...config, embedDim }, variables);
        const withBias = (query: tf.Tensor4D, name: string) =>
          addBroadcast(query, tf.reshape(variables.get(name), [1, numHeads, 1, headDim]));
        return {
          rotate(heads, role) {
            return role === 'key' ? heads : withBias(heads, 'contentBias');
          },
          tables(query, [from, to]) {
            const end = bidirectional ? to : Math.max(from + 1, Math.min(to, 1));
            const { table, first } = remembered!.between(from, end);
            return { keys: { table, index: { from: first }, query: withBias(query, 'positionBias') } };
          },
        };
      },
    );
    return {
      ...method,
      dispose() {
        remembered?.dispose();
        method.dispose();
      },
    };
  },
);

/** Projected sinusoids of distances, kept as long as they serve. */
class RememberedVectors {
  private kept: { readonly table: tf.Tensor3D; readonly first: number; readonly kernel: object } | undefined;

  constructor(
    private readonly config: TransformerXLConfig & { readonly embedDim: number },
    private readonly variables: VariablesByName,
  ) {}

  /** Vectors of the distances from `from` to `to - 1`, and maybe more: [Hq, R, D], row 0 that of `first`. */
  between(from: number, to: number): { readonly table: tf.Tensor3D; readonly first: number } {
    if (tf.engine().state.gradientDepth > 0) return { table: this.projected(from, to), first: from };
    const { dataId: kernel } = this.variables.get('kernel'); // another one as soon as it is assigned
    if (
      this.kept?.kernel === kernel &&
      this.kept.first <= from &&
      to <= this.kept.first + this.kept.table.shape[1]
    ) {
      return this.kept;
    }
    this.dispose();
    const [first, end] = widened([from, to]);
    this.kept = { table: tf.keep(this.projected(first, end)), first, kernel };
    return this.kept;
  }

  dispose(): void {
    this.kept?.table.dispose();
    this.kept = undefined;
  }

  private projected(from: number, to: number): tf.Tensor3D {
    const { numHeads, headDim, embedDim, interleaved = false } = this.config;
    return tf.tidy(() => {
      const R = to - from;
      const behind = Float64Array.from({ length: R }, (_, r) => -(from + r)); // i - j
      const vectors = tf.tensor3d(sinusoids(behind, embedDim, { interleaved }), [1, R, embedDim]);
      const heads = splitHeads(project(vectors, this.variables.get('kernel')), numHeads); // [1, Hq, R, D]
      return tf.reshape(heads, [numHeads, R, headDim]);
    });
  }
}

function checkTransformerXL(options: TransformerXLConfig): TransformerXLConfig {
  const known = ['numHeads', 'headDim', 'embedDim', 'bidirectional', 'interleaved', 'seed'] as const;
  const config = normalizeOptions(where, 'config', options, known) as TransformerXLConfig;
  const { numHeads, headDim, embedDim = numHeads * headDim, bidirectional, interleaved, seed } = config;
  checkSizes(where, { numHeads, headDim, embedDim });
  checkFlags(where, { bidirectional, interleaved });
  checkSeed(where, seed);
  if (embedDim % 2 === 0) return config;
  throw new ConfigError(where, 'embedDim must be even: a sine and a cosine for each frequency', { embedDim });
}
