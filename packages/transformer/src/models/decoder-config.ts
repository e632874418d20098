// What a decoder is described by, and whether that can be.
import { ConfigError } from '@polyhead/core';
import { checkFlag, checkNumber, checkOneOf } from '@polyhead/core/layer';
import type { StackConfig } from './block-stack';

/** Describes a `Decoder`. Plain JSON. */
export interface DecoderConfig extends StackConfig {
  /** What scores tokens: the table of embeddings itself (`tied`), or a matrix of its `own`. Default: `own`. */
  readonly head?: 'tied' | 'own' | undefined;
  /** A bias for each token's score. Default: false. */
  readonly headBias?: boolean | undefined;
  /** What scores are multiplied by, before their bias. Default: 1. */
  readonly logitScale?: number | undefined;
  /** Scores are capped at ±logitSoftcap by tanh. Default: 0, off. */
  readonly logitSoftcap?: number | undefined;
  /**
   * How many tokens each block sees, itself included: one number for all blocks, or one for each; 0 or null is all. Default:
   * all.
   */
  readonly windows?: number | readonly (number | null)[] | undefined;
  /**
   * For each block the earlier one, from 0, whose keys and values it attends with in place of its own, as the last blocks of
   * Gemma 3n do; null: its own. Each call then needs a cache that hands them on: a view of that block's. Default: none.
   */
  readonly sharedKeyValues?: readonly (number | null)[] | undefined;
}

/** The options of a `DecoderConfig` beside those of its blocks. */
export const decoderOptions = [
  'head',
  'headBias',
  'logitScale',
  'logitSoftcap',
  'windows',
  'sharedKeyValues',
] as const;

const kind = 'Decoder';

/** @throws ConfigError for options that cannot be */
export function checkDecoder({
  head,
  headBias,
  logitScale = 1,
  logitSoftcap = 0,
  windows,
  sharedKeyValues = [],
  numLayers,
}: DecoderConfig): void {
  checkOneOf(kind, 'head', head, ['tied', 'own']);
  checkFlag(kind, 'headBias', headBias);
  checkNumber(kind, 'logitScale', logitScale, [(x) => x !== 0, 'a number other than 0']);
  checkNumber(kind, 'logitSoftcap', logitSoftcap, [(x) => x >= 0, 'above 0, or 0 to switch it off']);
  const list = Array.isArray(windows) ? windows : [windows ?? 0];
  const isWindow = (n: unknown) => n === null || (Number.isInteger(n) && (n as number) >= 0);
  if (!list.every(isWindow) || (Array.isArray(windows) && list.length !== numLayers))
    throw new ConfigError(kind, 'windows must be a whole number, or one for each block', {
      windows,
      numLayers,
    });
  const isSource = (source: unknown, index: number) =>
    source === null || (Number.isInteger(source) && (source as number) >= 0 && (source as number) < index);
  const holdsRows = (source: number | null) => source === null || (sharedKeyValues[source] ?? null) === null;
  const sizes = Array.isArray(sharedKeyValues) ? [0, numLayers] : [];
  if (
    sizes.includes(sharedKeyValues.length) &&
    sharedKeyValues.every(isSource) &&
    sharedKeyValues.every(holdsRows)
  )
    return;
  throw new ConfigError(
    kind,
    'sharedKeyValues must name for each block an earlier one with keys of its own, or null',
    {
      sharedKeyValues,
      numLayers,
    },
  );
}
