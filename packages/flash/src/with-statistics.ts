// A kernel that is looked into: how statistics of a layer's heads are had, which only its kernel sees.
import { type AttentionKernel, ConfigError, type KernelCall } from '@polyhead/core';
import {
  checkStatistics,
  gatherStatistics,
  type StatisticResults,
  type Statistics,
  weightSource,
} from './gather-statistics';
import { checkLookedAt, type LookedAt, scopeOf } from './looked-at';

/**
 * The kernel, with statistics of each of its calls: for layers, whose heads only their kernel sees. Log-sum-exp comes from
 * the kernel, so that the look is one more pass.
 *
 * @param take is given the results after each call. They are disposed when the call ends: read them, or `tf.keep` them.
 *   Inside a gradient they are constants
 * @throws ConfigError for arguments that cannot be; ShapeError at a call without these heads or rows
 * @example
 * const kernel = withStatistics(flash(), { entropy: rowEntropy() }, ({ entropy }) => entropies.push(entropy.arraySync()));
 * attention.apply({ query }, { mask: causal(), kernel });
 */
export function withStatistics<S extends Statistics>(
  kernel: AttentionKernel,
  statistics: S,
  take: (results: StatisticResults<S>) => void,
  lookedAt: LookedAt = {},
): AttentionKernel {
  const where = 'withStatistics';
  if (typeof kernel?.run !== 'function' || typeof kernel.unsupported !== 'function') {
    throw new ConfigError(where, 'kernel must be an AttentionKernel, such as flash()', { kernel });
  }
  checkStatistics(where, statistics);
  if (typeof take !== 'function') throw new ConfigError(where, 'take must be a function', { take });
  const asked = checkLookedAt(where, lookedAt);
  return {
    name: kernel.name,
    prepare: async () => kernel.prepare?.(),
    unsupported: (call) => [...weightSource().unsupported(), ...kernel.unsupported(withLogSumExp(call))],
    notes: (call) => kernel.notes?.(withLogSumExp(call)) ?? [],
    worthwhile: (call) => kernel.worthwhile?.(withLogSumExp(call)) ?? true,
    run(call) {
      const scope = scopeOf(where, call, asked);
      const { logSumExp, ...result } = kernel.run(withLogSumExp(call));
      take(gatherStatistics(call, scope, statistics, logSumExp));
      return {
        kernel: kernel.name,
        ...result,
        ...(call.returns?.includes('logSumExp') && { logSumExp: logSumExp! }),
      };
    },
    dispose: () => kernel.dispose?.(),
  };
}

const withLogSumExp = (call: KernelCall): KernelCall => ({
  ...call,
  returns: [...new Set([...(call.returns ?? []), 'logSumExp' as const])],
});
