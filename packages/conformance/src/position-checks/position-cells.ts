// Each position method on each variant: masks, one pass or a cache, results and gradients.
import { isAttentionError } from '@polyhead/core';
import { thrownBy } from '../check';
import type { MaskName } from '../mask-kinds';
import {
  type CallPositions,
  type CellCall,
  checkCached,
  checkGradients,
  checkMemory,
  checkOnePass,
  gradientWithCache,
  secondGradient,
  type Trial,
} from './position-runs';
import type { PositionCase, PositionCell, PositionSuite, PositionVariant } from './suite';

const masks: readonly MaskName[] = [
  'none',
  'causal',
  'window',
  'lengths',
  'dense [B, Hq, Sq, Skv]',
  'any of',
];
const causalMasks: readonly MaskName[] = ['causal', 'causal window', 'causal lengths'];

// Anywhere, in any order, further apart than tables reach; for each batch entry others.
const somewhere = Int32Array.of(3, 0, 7, 7, 9, 2, 5, 4, 3, 9);
const scattered: CallPositions = {
  positions: [{ each: somewhere }],
  expected: { query: (b, i) => somewhere[b * 5 + i]!, key: (b, j) => somewhere[b * 5 + j]! },
};
const scatteredOnce: CallPositions = {
  positions: [{ each: somewhere.subarray(0, 5) }],
  expected: { query: (_b, i) => somewhere[i]!, key: (_b, j) => somewhere[j]! },
};
const paddings = [0, 1]; // what the mask kind 'left padding' hides of two batch entries
const padded: CallPositions = {
  positions: [{ start: paddings.map((n) => -n) }],
  expected: { query: (b, i) => i - paddings[b]!, key: (b, j) => j - paddings[b]! },
};

const secondOrder = 'a gradient of a gradient is not supported';
const selfOnly = 'the position method has no meaning in cross-attention';
const inPlace = 'rows are written in place, so gradients through them would be silently zero';

/** Every combination of the suite. */
export function positionCells(suite: PositionSuite): readonly PositionCell[] {
  return suite.methods.flatMap((method) =>
    suite.variants.flatMap((variant) => {
      const cell = cellOf(method, variant);
      return method.grid ? gridCells(method.grid, cell) : lineCells(suite, cell);
    }),
  );
}

/** A combination, to be run in one of the ways of `position-runs`. */
type MakeCell = (
  calls: string,
  call: CellCall,
  run: (trial: Trial) => void | Promise<void>,
  options?: { readonly refused?: string },
) => PositionCell;

function cellOf(method: PositionCase, variant: PositionVariant): MakeCell {
  return (calls, call, run, { refused } = {}) => {
    const isCross = call.Skv !== undefined;
    const ofTables = method.oracle.tables ? variant.refusesTables : undefined;
    const reason = refused ?? (isCross && method.selfOnly ? selfOnly : ofTables);
    const tried = () => run({ method, variant, call });
    return {
      method: method.name,
      variant: variant.name,
      calls,
      mask: call.mask,
      ...(reason && { refused: reason }),
      run: reason ? () => expectRefusal(tried, reason) : tried,
    };
  };
}

function lineCells(suite: PositionSuite, cell: MakeCell): readonly PositionCell[] {
  const cached = (trial: Trial) => checkCached(trial, suite);
  const causal: CellCall = { B: 2, Sq: 5, mask: 'causal' };
  return [
    ...masks.map((mask) => cell('one pass', { B: 2, Sq: 5, mask }, checkOnePass)),
    cell('one pass, own positions', { ...causal, ...scattered }, checkOnePass),
    cell('one pass, positions before 0', { ...causal, mask: 'left padding', ...padded }, checkOnePass),
    cell('cross-attention', { B: 2, Sq: 3, Skv: 5, mask: 'none' }, checkOnePass),
    cell('cross-attention', { B: 2, Sq: 5, Skv: 3, mask: 'causal' }, checkOnePass),
    cell('no tokens', { B: 2, Sq: 0, mask: 'none' }, checkOnePass),
    cell('no tokens', { B: 2, Sq: 3, Skv: 0, mask: 'none' }, checkOnePass),
    cell('gradients', { B: 1, Sq: 4, mask: 'causal' }, checkGradients),
    cell('gradients, own positions', { B: 1, Sq: 5, mask: 'none', ...scatteredOnce }, checkGradients),
    cell('gradients in cross-attention', { B: 1, Sq: 2, Skv: 4, mask: 'none' }, checkGradients),
    ...causalMasks.map((mask) => cell('cached', { B: 2, Sq: 5, mask }, cached)),
    cell('repeated', causal, checkMemory),
    cell('cached, in a gradient', causal, (trial) => gradientWithCache(trial, suite), { refused: inPlace }),
    cell('gradient of a gradient', causal, secondGradient, { refused: secondOrder }),
  ];
}

/** Methods of two dimensions take the positions of their grid only. */
function gridCells(grid: NonNullable<PositionCase['grid']>, cell: MakeCell): readonly PositionCell[] {
  const { tokens, positions, positionOf, refuses } = grid;
  const own: CallPositions = {
    positions,
    expected: { query: (_b, i) => positionOf(i), key: (_b, j) => positionOf(j) },
  };
  const call = (mask: MaskName): CellCall => ({ B: 2, Sq: tokens, mask, ...own });
  return [
    ...masks.map((mask) => cell('one pass, own positions', call(mask), checkOnePass)),
    cell('gradients, own positions', { ...call('causal'), B: 1 }, checkGradients),
    cell('repeated', call('causal'), checkMemory),
    cell('one pass', { B: 2, Sq: tokens, mask: 'none' }, checkOnePass, { refused: refuses }),
    cell('gradient of a gradient', call('causal'), secondGradient, { refused: secondOrder }),
  ];
}

async function expectRefusal(run: () => void | Promise<void>, reason: string): Promise<void> {
  const error = await thrownBy(run);
  if (!isAttentionError(error) || !error.message.includes(reason)) throw error;
}
