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
  const ofContract = reasonsOfContract(kernel, call);
  const own = ownReasons(kernel, call);
  return ofContract.length === 0 ? own : [...ofContract, ...own];
}

function reasonsOfContract(
  { takes, takesState = false }: AttentionKernel,
  { inputs, tensors, isTaped, returns }: KernelCall,
): string[] {
  const reasons: string[] = [];
  const returnsState = returns?.includes('state') === true;
  if (tf.engine().state.gradientDepth > 1)
    reasons.push(`a gradient of a gradient is not supported: ${secondOrder}`);
  if (isTaped && inputs.stored !== undefined)
    reasons.push(
      'stored keys and values have no gradient: rows written in place would make it silently zero',
    );
  if (isTaped && returnsState) reasons.push('a state that is returned has no gradient');
  if (inputs.state !== undefined && !takesState)
    reasons.push('it takes keys and values, and no state of earlier tokens');
  if (returnsState && !takesState) reasons.push('it has no state to return');
  const ignored = tensors ? Object.keys(tensors).filter((name) => !takes?.includes(name)) : [];
  if (ignored.length > 0) reasons.push(`it has no use for the tensors ${ignored.join(', ')}`);
  return reasons;
}

function ownReasons(kernel: AttentionKernel, call: KernelCall): readonly string[] {
  const reasons: unknown = kernel.unsupported(call);
  if (Array.isArray(reasons) && reasons.every((reason) => typeof reason === 'string')) return reasons;
  throw new ConfigError('attend', `unsupported of ${kernel.name} must give a list of reasons`, { reasons });
}
