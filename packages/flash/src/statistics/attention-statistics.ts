// Looking inside without the matrix: weights are exp(score - logSumExp), so that any tile of them can be made again, read,
// and thrown away.
import {
  type AttendOptions,
  type AttentionInputs,
  ConfigError,
  type KernelCall,
  ShapeError,
  UnsupportedError,
} from '@polyhead/core';
import { checkTensor, cleanTidy, kernelCall, normalizeOptions } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import {
  checkStatistics,
  gatherStatistics,
  type StatisticResults,
  type Statistics,
  weightSource,
} from './gather-statistics';
import { checkRegion, type Region, scopeOf } from './region';

/** The region that statistics are of, and what is known already. */
export interface StatisticsOptions extends Region {
  /** What `attend` returned for these inputs and options, [B, Hq, Sq]. Default: computed, in a pass of its own. */
  readonly logSumExp?: tf.Tensor | undefined;
}

/**
 * What the weights of a call are, without an array of Sq x Skv: tile by tile, one pass for all statistics. Weights are
 * those of `returns: ['weights']`, before dropout.
 *
 * @param inputs those of `attend`: query [B, Hq, Sq, D] and key [B, Hkv, Skv, D], or rows stored in a cache
 * @param options those of `attend`, without `returns`
 * @param statistics by the names that their results shall have
 * @param statisticsOptions heads and rows, all by default: results are [B, H, R, ...]; log-sum-exp where it is known
 * @returns the result of each statistic, tensors of the caller's
 * @throws ShapeError, ConfigError for arguments that cannot be
 * @throws UnsupportedError inside a gradient, and where tensors cannot be read at once
 * @example
 * const options = { mask: causal(), softcap: 30 };
 * const { output, logSumExp } = attend(flash(), inputs, { ...options, returns: ['logSumExp'] });
 * const { entropy, map } = attentionStatistics(
 *   inputs,
 *   options,
 *   { entropy: rowEntropy(), map: pooledWeights({ rows: 64, columns: 64 }) },
 *   { logSumExp },
 * );
 */
export function attentionStatistics<S extends Statistics>(
  inputs: AttentionInputs,
  options: Omit<AttendOptions, 'returns'>,
  statistics: S,
  statisticsOptions: StatisticsOptions = {},
): StatisticResults<S> {
  const where = 'attentionStatistics';
  checkStatistics(where, statistics);
  const names = ['heads', 'rows', 'logSumExp'] as const;
  const known = normalizeOptions(where, 'options', statisticsOptions ?? {}, names);
  const { logSumExp, ...rest } = known;
  const region = checkRegion(where, rest);
  return cleanTidy(() => {
    const call = kernelCall(where, inputs, options);
    refuse(where, call);
    if (logSumExp) checkLogSumExp(where, call, logSumExp);
    const scope = scopeOf(where, call, region);
    return gatherStatistics(call, scope, statistics, logSumExp) as tf.TensorContainer;
  }) as StatisticResults<S>;
}

function refuse(where: string, call: KernelCall): void {
  if (call.returns) {
    throw new ConfigError(where, 'statistics are what is returned: leave returns to attend', {
      returns: call.returns,
    });
  }
  const reasons = [
    ...weightSource().unsupported(),
    ...(call.isTaped ? ['statistics have no gradient: it would silently be zero'] : []),
  ];
  if (reasons.length === 0) return;
  throw new UnsupportedError(where, `this call cannot be read on backend "${tf.getBackend()}"`, reasons, {
    query: call.inputs.query,
  });
}

function checkLogSumExp(where: string, { inputs }: KernelCall, logSumExp: tf.Tensor): void {
  const wanted = inputs.query.shape.slice(0, 3);
  checkTensor(where, 'logSumExp', logSumExp, ['[B, Hq, Sq]', { query: inputs.query }]);
  if (`${logSumExp.shape}` === `${wanted}`) return;
  throw new ShapeError(where, 'logSumExp must be that of the call', { logSumExp, '[B, Hq, Sq]': wanted });
}
