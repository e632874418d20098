// Statistics of a layer's heads, which only its kernel sees: a kernel around its kernel.
import { type AttentionKernel, ConfigError } from '@polyhead/core';
import { wrapKernel } from '@polyhead/core/kernel';
import {
  checkStatistics,
  gatherStatistics,
  type StatisticResults,
  type Statistics,
  weightSource,
} from './gather-statistics';
import { checkRegion, type Region, scopeOf } from './region';

/**
 * The kernel, with statistics of each of its calls: for layers, whose heads only their kernel sees. Log-sum-exp comes from
 * the kernel, so that statistics cost one more pass.
 *
 * @param kernel what computes attention; the result is its own
 * @param statistics by the names that their results shall have
 * @param onResults gets the results after each call. They are disposed when the call ends: read them, or `tf.keep` them.
 *   Inside a gradient they are constants
 * @param region heads and rows that statistics are of, all by default: results are [B, H, R, ...]
 * @throws ConfigError for arguments that cannot be; ShapeError at a call without these heads or rows
 * @example
 * const kernel = withStatistics(flash(), { entropy: rowEntropy() }, ({ entropy }) => entropies.push(entropy.arraySync()));
 * attention.apply({ query }, { mask: causal(), kernel });
 */
export function withStatistics<S extends Statistics>(
  kernel: AttentionKernel,
  statistics: S,
  onResults: (results: StatisticResults<S>) => void,
  region: Region = {},
): AttentionKernel {
  const where = 'withStatistics';
  if (typeof kernel?.run !== 'function' || typeof kernel.unsupported !== 'function') {
    throw new ConfigError(where, 'kernel must be an AttentionKernel, such as flash()', { kernel });
  }
  checkStatistics(where, statistics);
  if (typeof onResults !== 'function')
    throw new ConfigError(where, 'onResults must be a function', { onResults });
  const known = checkRegion(where, region);
  const wrapped = wrapKernel(kernel, {
    call(call) {
      scopeOf(where, call, known); // throws before anything has run
      return { ...call, returns: [...new Set([...(call.returns ?? []), 'logSumExp' as const])] };
    },
    unsupported: () => weightSource().unsupported(),
    result({ logSumExp, ...result }, call) {
      onResults(gatherStatistics(call, scopeOf(where, call, known), statistics, logSumExp));
      return call.returns?.includes('logSumExp') ? { ...result, logSumExp: logSumExp! } : result;
    },
  });
  return {
    ...wrapped,
    toJSON() {
      throw new ConfigError(where, 'a kernel with statistics has no JSON: onResults is a function', {
        kernel,
      });
    },
  };
}
