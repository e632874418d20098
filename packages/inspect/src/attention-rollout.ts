// Where tokens of a later layer come from, through all layers before it.
import { ConfigError, ShapeError } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import { type HeadWeights, headsShape } from './head-weights';

/** How weights of layers are joined. */
export interface RolloutOptions {
  /** The share of a token that goes around attention, from 0 to 1. Default: 0.5, as a sum with the residual has. */
  readonly residual?: number;
}

/**
 * Attention rollout (Abnar and Zuidema 2020, 2005.00928): how much of each input token is in each token of each layer, if heads
 * count alike and what goes around attention keeps its share.
 *
 *     R⁰ = I,  Rˡ = (residual · I + (1 - residual) · mean over heads of Aˡ) · Rˡ⁻¹
 *
 * Rows of weights are taken as shares of their sum; one that sees nothing keeps itself. It knows neither values nor
 * feed-forward layers, so it is a picture of where things may come from, not a proof.
 *
 * @param layers [L] of [H, S, S], weights of one sequence to itself, the first layer first
 * @returns [L, S, S], each row of sum 1: the last is that of the whole model
 * @throws ShapeError, ConfigError
 * @example
 * const rollout = attentionRollout([await readHeads(first), await readHeads(second)]);
 * rollout.at(-1)![4]; // what the fifth token is made of
 */
export function attentionRollout(layers: readonly HeadWeights[], options: RolloutOptions = {}): number[][][] {
  const where = 'attentionRollout';
  const { residual = 0.5 } = normalizeOptions(where, 'options', options, ['residual']);
  if (!(typeof residual === 'number' && residual >= 0 && residual <= 1))
    throw new ConfigError(where, 'residual must be from 0 to 1', { residual });
  if (!Array.isArray(layers) || layers.length === 0)
    throw new ConfigError(where, 'layers must be a list of heads with a layer at least', { layers });
  const shapes = layers.map((heads) => headsShape(where, heads));
  const [, S] = shapes[0]!;
  if (!shapes.every(([, Sq, Skv]) => Sq === S && Skv === S))
    throw new ShapeError(where, 'all layers must be [H, S, S] of one S', { shapes });
  let rolled = Array.from({ length: S }, (_, i) => Array.from({ length: S }, (__, j) => Number(i === j)));
  return layers.map((heads) => {
    const before = rolled;
    rolled = Array.from({ length: S }, (_, i) => {
      const row = new Array<number>(S).fill(0);
      for (const [k, share] of mixed(heads, i, residual).entries())
        if (share !== 0) for (let j = 0; j < S; j++) row[j]! += share * before[k]![j]!;
      return row;
    });
    return rolled;
  });
}

/** What a token takes of each token of the layer before. */
function mixed(heads: HeadWeights, i: number, residual: number): number[] {
  const mean = heads[0]!.map((_, k) => heads.reduce((sum, rows) => sum + rows[i]![k]!, 0) / heads.length);
  const sum = mean.reduce((total, weight) => total + weight, 0);
  return mean.map((weight, k) =>
    sum === 0 ? Number(k === i) : residual * Number(k === i) + ((1 - residual) * weight) / sum,
  );
}
