// Relative bias of image windows (Liu et al. 2021, 2103.14030, section 3.2): a learned number for each offset in y and x,
// added to scores. A token at (y, x) of a window h x w stands at y (2w - 1) + x, so that a distance tells both offsets.
import { ConfigError, type TokenPositions } from '@polyhead/core';
import { checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkHeightWidth, checkSeed } from './check-options';
import { type PositionParts, type TrainedPosition, trainedPosition } from './position-method';

/** A learned bias for each offset in a window. */
export interface SwinConfig {
  /** Height and width of a window in tokens. */
  readonly window: readonly [height: number, width: number];
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 'swin';

/** Where the tokens of a window stand, row by row: `positions` of a layer's call. */
export function windowPositions(window: readonly [height: number, width: number]): readonly TokenPositions[] {
  checkHeightWidth('windowPositions', 'window', window);
  const [height, width] = window;
  const position = (_: unknown, n: number) => Math.floor(n / width) * (2 * width - 1) + (n % width);
  return [{ each: Int32Array.from({ length: height * width }, position) }];
}

/**
 * The variable `table`, [(2h - 1) (2w - 1), Hq], is Swin's `relative_position_bias_table`: the row of offset
 * (y, x), query - key, is (y + h - 1) (2w - 1) + x + w - 1. Batch entries are windows; shifted windows hide pairs by `dense`.
 *
 * @throws ConfigError for options that cannot be, and in a call whose positions are not those of `windowPositions`
 */
export const swin = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: SwinConfig, parts: PositionParts = {}): TrainedPosition => {
    const config = checkSwin(options);
    const { window, numHeads } = config;
    const [height, width] = window;
    const R = (2 * height - 1) * (2 * width - 1);
    const farthest = (R - 1) / 2;
    const index = { from: -farthest, rows: Int32Array.from({ length: R }, (_, r) => R - 1 - r) };
    const described = { config, needs: { numHeads }, shapes: { table: [R, numHeads] }, parts };
    return trainedPosition(where, described, (variables) => ({
      tables(_query, [from, to]) {
        if (from !== -farthest || to !== farthest + 1) {
          throw new ConfigError(where, 'positions must be those of windowPositions(window)', {
            window,
            distances: `${from} to ${to - 1}, not ${-farthest} to ${farthest}`,
          });
        }
        return { bias: { table: tf.transpose(variables.get('table')) as tf.Tensor2D, index } };
      },
    }));
  },
);

function checkSwin(options: SwinConfig): SwinConfig {
  const config = normalizeOptions(where, 'config', options, ['window', 'numHeads', 'seed']) as SwinConfig;
  const { window, numHeads, seed } = config;
  checkHeightWidth(where, 'window', window);
  checkSizes(where, { numHeads });
  checkSeed(where, seed);
  return config;
}
