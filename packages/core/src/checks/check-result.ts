// What a kernel gives is judged as what a caller gives.
import { ConfigError, ShapeError } from '../contract/errors';
import type { AttentionKernel, KernelCall, KernelResult } from '../contract/kernel';
import { checkTensor } from './check-tensor';

/**
 * What the call asks for, of what the kernel gave, and the name of the kernel that ran.
 *
 * @throws ConfigError for what is no result, ShapeError for a tensor that is missing, disposed, or of another shape or
 *   dtype; both name the kernel
 */
export function checkResult(kernel: AttentionKernel, call: KernelCall, result: KernelResult) {
  const { sizes, returns = [] } = call;
  const { B, Hq, Sq, Skv, Dv } = sizes;
  const rule = `${kernel.name} must give { output }, at once`;
  if (typeof result !== 'object' || result === null || 'then' in result)
    throw new ConfigError('attend', rule, { result });
  const { kernel: name = kernel.name, output, weights, logSumExp, state } = result;
  const check = (part: string, tensor: unknown, shape: readonly number[], moreColumns = false) => {
    const facts = { 'shape needed': shape };
    checkTensor('attend', `${part} of ${kernel.name}`, tensor, [letters[part]!, facts]);
    const fits = (size: number, n: number) =>
      size === shape[n]! || (moreColumns && n === 3 && size > shape[n]!);
    if (tensor.shape.every(fits)) return;
    throw new ShapeError('attend', `${kernel.name} must give ${part} as ${letters[part]}`, {
      ...facts,
      [part]: tensor,
    });
  };
  check('output', output, [B, Hq, Sq, Dv]);
  // Keys that a kernel adds, such as memory, have columns behind those of the call.
  if (returns.includes('weights')) check('weights', weights, [B, Hq, Sq, Skv], true);
  if (returns.includes('logSumExp')) check('logSumExp', logSumExp, [B, Hq, Sq]);
  if (returns.includes('state') && (typeof state !== 'object' || state === null))
    throw new ConfigError('attend', `${kernel.name} must give a state`, { state });
  if (typeof name !== 'string')
    throw new ConfigError('attend', `${kernel.name} must name the kernel that ran`, { name });
  return {
    kernel: name,
    output,
    ...(returns.includes('weights') && { weights: weights! }),
    ...(returns.includes('logSumExp') && { logSumExp: logSumExp! }),
    ...(returns.includes('state') && { state: { ...state! } }),
  };
}

const letters: { readonly [part: string]: string } = {
  output: '[B, Hq, Sq, Dv]',
  weights: '[B, Hq, Sq, Skv]',
  logSumExp: '[B, Hq, Sq]',
};
