// Rotary positions of image patches (as in the vision tower of Qwen2-VL, Wang et al. 2024, 2409.12191): the first half of
// the pairs is turned by y, the second by x, each half at the frequencies of rotary positions of half the size.
import { ConfigError, type PositionMethod, type TokenPositions } from '@polyhead/core';
import { checkNumber, normalizeOptions, withKind } from '@polyhead/core/layer';
import { checkCounts, checkFlags, checkHeightWidth } from '../check-options';
import { rotaryFrequencies } from './frequencies';
import { rotating } from './rotary';

/** How heads of image patches are turned. */
export interface AxialRotaryConfig {
  /** D, the size of a head: a multiple of 4. */
  readonly headDim: number;
  /** Default: 10000. */
  readonly base?: number | undefined;
  /** Pairs (2i, 2i + 1) in place of (i, i + D / 2). Default: false. */
  readonly interleaved?: boolean | undefined;
}

const where = 'axialRotary';

/** Where the patches of an image stand, row by row: `positions` of a layer's call, y and x. */
export function gridPositions(grid: readonly [height: number, width: number]): readonly TokenPositions[] {
  checkHeightWidth('gridPositions', 'grid', grid);
  const [height, width] = grid;
  const of = (coordinate: (n: number) => number) => ({
    each: Int32Array.from({ length: height * width }, (_, n) => coordinate(n)),
  });
  return [of((n) => Math.floor(n / width)), of((n) => n % width)];
}

/**
 * Turns queries and keys by two positions of each token.
 *
 * @throws ConfigError for options that cannot be, ShapeError in a call without two positions for each token
 */
export const axialRotary = /* @__PURE__ */ withKind(
  where,
  ['config'],
  (options: AxialRotaryConfig): PositionMethod => {
    const config = normalizeOptions(where, 'config', options, [
      'headDim',
      'base',
      'interleaved',
    ]) as AxialRotaryConfig;
    const { headDim, base = 10_000, interleaved = false } = config;
    checkCounts(where, { headDim });
    checkNumber(where, 'base', base, [(x) => x > 1, 'a number above 1']);
    checkFlags(where, { interleaved });
    if (headDim % 4 !== 0) throw new ConfigError(where, 'headDim must be a multiple of 4', { headDim });
    const half = [...rotaryFrequencies({ base, rotaryDim: headDim / 2 })];
    const perPosition = Float64Array.from([...half, ...half]);
    return rotating(where, config, {
      headDim,
      interleaved,
      sections: [headDim / 4, headDim / 4],
      eachSection: true,
      frequencies: () => ({ perPosition, factor: 1 }),
    });
  },
);
