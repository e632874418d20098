// Why a kernel cannot run a call: what no kernel can, what this one does not name, and what it says itself.
import * as tf from '@tensorflow/tfjs-core';
import { ConfigError } from '../contract/errors';
import type { AttentionKernel, KernelCall } from '../contract/kernel';
import { secondOrder } from './gradient';

/**
 * The reasons against a call; empty when the kernel can run it.
 *
 * @throws ConfigError where `unsupported` answers with anything but a list of strings
 */
export function refusals(kernel: AttentionKernel, call: KernelCall): readonly string[] {
  return [...reasonsOfContract(kernel, call), ...ownReasons(kernel, call)];
}

function reasonsOfContract(
  kernel: AttentionKernel,
  { inputs, tensors, isTaped, returns }: KernelCall,
): string[] {
  const { takes = [], takesState = false } = kernel;
  const ignored = Object.keys(tensors ?? {}).filter((name) => !takes.includes(name));
  const rules: readonly (readonly [refuses: boolean, reason: string])[] = [
    [tf.engine().state.gradientDepth > 1, `a gradient of a gradient is not supported: ${secondOrder}`],
    [
      isTaped && inputs.stored !== undefined,
      'stored keys and values have no gradient: rows written in place would make it silently zero',
    ],
    [isTaped && returns?.includes('state') === true, 'a state that is returned has no gradient'],
    [inputs.state !== undefined && !takesState, 'it takes keys and values, and no state of earlier tokens'],
    [returns?.includes('state') === true && !takesState, 'it has no state to return'],
    [ignored.length > 0, `it has no use for the tensors ${ignored.join(', ')}`],
  ];
  return rules.filter(([refuses]) => refuses).map(([, reason]) => reason);
}

function ownReasons(kernel: AttentionKernel, call: KernelCall): readonly string[] {
  const reasons: unknown = kernel.unsupported(call);
  if (Array.isArray(reasons) && reasons.every((reason) => typeof reason === 'string')) return reasons;
  throw new ConfigError('attend', `unsupported of ${kernel.name} must give a list of reasons`, { reasons });
}
