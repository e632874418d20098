// What a kernel is tried on: a table of rows, and rows in which any two options meet.
import { type AttentionCase, attentionCase, type BiasName, type CaseRow } from './attention-case';
import { type MaskName, maskKinds } from './mask-kinds';
import type { Sizes } from './oracle';
import { pairwise } from './pairwise';

const manySizes: readonly Sizes[] = [
  { B: 2, Hq: 6, Hkv: 3, Sq: 5, Skv: 7, D: 5, Dv: 3 },
  { B: 1, Hq: 3, Hkv: 3, Sq: 1, Skv: 6, D: 4, Dv: 4 }, // one query
  { B: 3, Hq: 4, Hkv: 1, Sq: 3, Skv: 1, D: 2, Dv: 5 }, // one key, one key/value head
  { B: 2, Hq: 2, Hkv: 2, Sq: 6, Skv: 3, D: 7, Dv: 8 }, // more queries than keys
  { B: 2, Hq: 2, Hkv: 1, Sq: 4, Skv: 4, D: 3, Dv: 1 },
];

const factors = {
  mask: Object.keys(maskKinds) as MaskName[],
  bias: [
    'none',
    '[1, 1, 1, Skv]',
    '[B, 1, Sq, 1]',
    '[1, Hq, Sq, Skv]',
    '[B, 1, 1, Skv] hiding keys',
    '[B, Hq, Sq, Skv] hiding pairs and a row',
  ] as BiasName[],
  sizes: manySizes,
  returns: [[], ['weights'], ['logSumExp'], ['weights', 'logSumExp']] as NonNullable<CaseRow['returns']>[],
  queryStart: [undefined, 0, 'ragged'] as const,
  scale: [undefined, 0.3, 0],
  softcap: [0, 1.5],
  sinkLogits: [false, true],
  dropout: [0, 0.4],
};

/**
 * What a kernel may refuse: options, results, kinds of masks, and `gradients`. Cases leave it out then, and the suite
 * checks that it is refused with a reason. `scale` is any but the default.
 */
export type Refusable =
  | 'bias'
  | 'softcap'
  | 'sinkLogits'
  | 'dropout'
  | 'scale'
  | 'weights'
  | 'logSumExp'
  | 'relative'
  | 'stored'
  | 'gradients'
  | `mask: ${MaskName}`;

/** Any two values of different options meet in one of these. */
export function coveringCases(refused: readonly Refusable[] = []): readonly AttentionCase[] {
  const first = <T>(option: Refusable, values: readonly T[]) =>
    refused.includes(option) ? values.slice(0, 1) : values;
  const rows = pairwise({
    ...factors,
    mask: factors.mask.filter((mask) => !refused.includes(`mask: ${mask}`)),
    bias: first('bias', factors.bias),
    scale: first('scale', factors.scale),
    softcap: first('softcap', factors.softcap),
    sinkLogits: first('sinkLogits', factors.sinkLogits),
    dropout: first('dropout', factors.dropout),
    returns: factors.returns.filter((names) => names.every((name) => !refused.includes(name))),
  });
  return rows.map(attentionCase);
}

/** What of a row may be refused. */
export function refusableIn({ mask = 'none', bias = 'none', scale, returns = [], ...row }: CaseRow) {
  const options: { readonly [option in Refusable]?: unknown } = {
    bias: bias !== 'none',
    scale: scale !== undefined,
    softcap: row.softcap,
    sinkLogits: row.sinkLogits,
    dropout: row.dropout,
    weights: returns.includes('weights'),
    logSumExp: returns.includes('logSumExp'),
    [`mask: ${mask}`]: true,
  };
  return (Object.keys(options) as Refusable[]).filter((option) => options[option]);
}

/** A bias of every shape that broadcasts. */
export const broadcastCases: readonly AttentionCase[] = Array.from({ length: 16 }, (_, n) => {
  const letters = ['B', 'Hq', 'Sq', 'Skv'].map((letter, axis) => ((n >> axis) % 2 === 0 ? '1' : letter));
  const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 3, Skv: 5, D: 3, Dv: 2 };
  return attentionCase({ sizes, mask: 'causal', bias: `[${letters.join(', ')}]`, returns: ['logSumExp'] });
});

/** One key that a whole call, or a whole block of rows, does not see: a size of 1 that must not broadcast. */
export const lonelyKeyCases: readonly AttentionCase[] = (
  [
    { sizes: { B: 1, Hq: 2, Hkv: 1, Sq: 3, Skv: 1, D: 2, Dv: 4 }, mask: 'causal', queryStart: -3 },
    {
      sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 3, Skv: 1, D: 2, Dv: 3 },
      mask: 'window',
      queryStart: 5,
      sinkLogits: true,
    },
    { sizes: { B: 1, Hq: 2, Hkv: 2, Sq: 270, Skv: 1, D: 3, Dv: 2 }, mask: 'causal', bias: '[B, 1, Sq, 1]' },
  ] satisfies CaseRow[]
).map((row) => attentionCase({ ...row, returns: ['weights', 'logSumExp'] }));

/** Sizes at which kernels change their ways: flattened products, row blocks, long rows. Few options. */
export const largeCases: readonly AttentionCase[] = (
  [
    {
      sizes: { B: 2, Hq: 4, Hkv: 2, Sq: 66, Skv: 67, D: 33, Dv: 18 },
      mask: 'lengths',
      returns: ['weights', 'logSumExp'],
    },
    { sizes: { B: 1, Hq: 2, Hkv: 1, Sq: 300, Skv: 310, D: 8, Dv: 4 }, mask: 'causal', sinkLogits: true },
    {
      sizes: { B: 1, Hq: 2, Hkv: 2, Sq: 530, Skv: 270, D: 5, Dv: 3 },
      mask: 'causal',
      returns: ['logSumExp'],
    },
    {
      sizes: { B: 1, Hq: 2, Hkv: 1, Sq: 270, Skv: 270, D: 4, Dv: 6 },
      mask: 'window',
      bias: '[1, 1, 1, Skv]',
      dropout: 0.4,
    },
    { sizes: { B: 2, Hq: 4, Hkv: 1, Sq: 1, Skv: 700, D: 64, Dv: 64 }, mask: 'left padding', softcap: 4 },
  ] satisfies CaseRow[]
).map(attentionCase);

const few: Sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 3, Skv: 4, D: 2, Dv: 3 };

/** Cases whose gradients are compared entry by entry: each kind of option is in one of them. */
export const entrywiseCases: readonly AttentionCase[] = (
  [
    { sizes: few, mask: 'causal lengths' },
    { sizes: few, mask: 'window', bias: '[B, 1, 1, Skv] hiding keys', sinkLogits: true },
    { sizes: few, mask: 'lengths per row', bias: '[1, Hq, Sq, Skv]', dropout: 0.4, queryStart: 'ragged' },
    { sizes: few, mask: 'dense [B, Hq, Sq, Skv]', scale: 0.3, returns: ['logSumExp'] },
    { sizes: few, mask: 'causal', softcap: 1.5, sinkLogits: true, returns: ['weights', 'logSumExp'] },
  ] satisfies CaseRow[]
).map(attentionCase);
