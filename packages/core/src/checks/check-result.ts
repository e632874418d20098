// What a kernel gives is judged as what a caller gives.
import { ConfigError, ShapeError } from '../contract/errors';
import type { AttendResult, AttentionKernel, KernelCall, KernelResult } from '../contract/kernel';
import { checkTensor } from './check-tensor';

/**
 * What the call asks for, of what the kernel gave, and the name of the kernel that ran.
 *
 * @throws ConfigError for what is no result, ShapeError for a tensor that is missing, disposed, or of another shape or
 *   dtype; both name the kernel
 */
export function checkResult(kernel: AttentionKernel, call: KernelCall, result: KernelResult): AttendResult {
  const { returns, sizes } = call;
  if (typeof result !== 'object' || result === null || 'then' in result)
    throw new ConfigError('attend', `${kernel.name} must give { output }, at once`, { result });
  const { kernel: name = kernel.name, output, weights, logSumExp, state } = result;
  if (typeof name !== 'string')
    throw new ConfigError('attend', `${kernel.name} must name the kernel that ran`, { name });
  const { B, Hq, Sq, Skv, Dv } = sizes;
  checkPart(kernel, 'output', output, [B, Hq, Sq, Dv]);
  if (returns === undefined || returns.length === 0) return { kernel: name, output };
  const [wantsWeights, wantsSums, wantsState] = names.map((wanted) => returns.includes(wanted));
  if (wantsWeights) checkPart(kernel, 'weights', weights, [B, Hq, Sq, Skv]);
  if (wantsSums) checkPart(kernel, 'logSumExp', logSumExp, [B, Hq, Sq]);
  if (wantsState && (typeof state !== 'object' || state === null))
    throw new ConfigError('attend', `${kernel.name} must give a state`, { state });
  return {
    kernel: name,
    output,
    ...(wantsWeights && { weights: weights! }),
    ...(wantsSums && { logSumExp: logSumExp! }),
    ...(wantsState && { state: { ...state! } }),
  };
}

const names = ['weights', 'logSumExp', 'state'] as const;
const letters = { output: '[B, Hq, Sq, Dv]', weights: '[B, Hq, Sq, Skv]', logSumExp: '[B, Hq, Sq]' };

function checkPart(
  { name }: AttentionKernel,
  part: keyof typeof letters,
  tensor: unknown,
  needed: readonly number[],
): void {
  checkTensor('attend', `${part} of ${name}`, tensor, [letters[part]]);
  // Keys that a kernel adds, such as memory, have columns of weights behind those of the call.
  const fits = (size: number, n: number) =>
    size === needed[n]! || (part === 'weights' && n === 3 && size > needed[n]!);
  if (tensor.shape.every(fits)) return;
  throw new ShapeError('attend', `${name} must give ${part} as ${letters[part]}`, {
    'shape needed': needed,
    [part]: tensor,
  });
}
