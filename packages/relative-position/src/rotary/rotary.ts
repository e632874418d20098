// Rotary positions (Su et al. 2021, 2104.09864): pair i of a head at position p is turned by the angle p θ_i, so that
// products of queries and keys depend on distances alone.
//
//   θ_i = base^(-2i / rotaryDim),   (x, y) -> (x cos pθ_i - y sin pθ_i, y cos pθ_i + x sin pθ_i)
import { ConfigError, type PositionMethod } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import { checkCounts, checkFlags } from '../check-options';
import { positionMethod } from '../position-method';
import { positionsOfSections, type Rotation, rememberedAngles } from './angles';
import { dependsOnLength, scaledFrequencies } from './frequencies';
import { checkScaling, type RotaryScaling } from './rotary-scaling';
import { turnInto, turnPairs } from './turn-pairs';

/** How heads are turned. */
export interface RotaryConfig {
  /** D, the size of a head. */
  readonly headDim: number;
  /** How many numbers of a head are turned, the first ones: even, at most D. Default: D. */
  readonly rotaryDim?: number | undefined;
  /** Default: 10000. */
  readonly base?: number | undefined;
  /** Pairs (2i, 2i + 1) in place of (i, i + rotaryDim / 2). Default: false. */
  readonly interleaved?: boolean | undefined;
  /** For lengths that the model was not trained on. */
  readonly scaling?: RotaryScaling | undefined;
  /**
   * How many pairs each position of a token turns, in order, where tokens have several: time, height and width in
   * vision-language models (Wang et al. 2024, 2409.12191). Their sum is rotaryDim / 2.
   */
  readonly sections?: readonly number[] | undefined;
}

const where = 'rotary';

/**
 * Turns queries and keys; a cache keeps turned keys. Values stay as they are. Give one object to all layers: it remembers the
 * angles of the last positions.
 *
 * With scaling `dynamic`, and `longrope` past its original length, frequencies depend on the largest position of a call:
 * keys in a cache keep those of the call that made them.
 *
 * @throws ConfigError for options that cannot be
 */
export const rotary = /* @__PURE__ */ withKind(where, ['config'], (options: RotaryConfig): PositionMethod => {
  const config = checkRotary(options);
  const { headDim, rotaryDim = headDim, base = 10_000, interleaved = false, scaling } = config;
  const { sections = [rotaryDim / 2] } = config;
  const frequencies = (length: number) => scaledFrequencies({ base, rotaryDim }, scaling, length);
  const always = dependsOnLength(scaling) ? undefined : frequencies(1);
  return rotating(where, config, {
    headDim,
    interleaved,
    sections,
    frequencies: (length) => always ?? frequencies(length),
  });
});

/** The position method of a rotation: it has no variables, and nothing to dispose. */
export function rotating(name: string, config: object, rotation: Rotation): PositionMethod {
  const { headDim, interleaved } = rotation;
  const angles = rememberedAngles(rotation);
  return positionMethod(
    name,
    { config, needs: { headDim } },
    {
      rotate(heads, _role, at) {
        const S = heads.shape[2];
        const positions = positionsOfSections(name, at, rotation, S);
        return turnPairs(heads, { angles: angles(positions, S), interleaved });
      },
      rotateInto(to, heads, _role, at) {
        const S = heads.shape[2];
        const positions = positionsOfSections(name, at, rotation, S);
        turnInto(to, heads, { angles: angles(positions, S), interleaved });
      },
    },
  );
}

function checkRotary(options: RotaryConfig): RotaryConfig {
  const known = ['headDim', 'rotaryDim', 'base', 'interleaved', 'scaling', 'sections'] as const;
  const config = normalizeOptions(where, 'config', options, known) as RotaryConfig;
  const { headDim, rotaryDim = headDim, base = 10_000, interleaved, scaling, sections } = config;
  checkCounts(where, { headDim, rotaryDim });
  if (rotaryDim % 2 !== 0 || rotaryDim > headDim) {
    throw new ConfigError(where, 'rotaryDim must be even, and at most headDim', { rotaryDim, headDim });
  }
  checkNumber(where, 'base', base, [(x) => x > 1, 'a number above 1']);
  checkFlags(where, { interleaved });
  if (sections !== undefined) checkSections(sections, rotaryDim);
  if (scaling === undefined) return config;
  return { ...config, scaling: checkScaling(where, scaling, rotaryDim / 2) };
}

function checkSections(sections: readonly number[], rotaryDim: number): void {
  if (!Array.isArray(sections)) throw new ConfigError(where, 'sections must be a list', { sections });
  for (const [i, pairs] of sections.entries()) checkSizes(where, { [`sections[${i}]`]: pairs });
  if (sections.reduce((sum, pairs) => sum + pairs, 0) === rotaryDim / 2) return;
  throw new ConfigError(where, 'sections must sum to rotaryDim / 2 pairs', { sections, rotaryDim });
}
