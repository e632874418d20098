// The kernel of layers that have none of their own.
import { checkKernel } from '../checks/check-options';
import { composed } from '../composed/composed';
import type { AttentionKernel } from '../contract/kernel';

let chosen: AttentionKernel | undefined;

/**
 * The kernel of every layer that has none of its own, from now on; a layer's and a call's own kernel win. undefined:
 * `composed()` again.
 *
 * @throws ConfigError for what is no kernel
 * @example setDefaultKernel(firstSupported([flash(), composed()]));
 */
export function setDefaultKernel(kernel: AttentionKernel | undefined): void {
  if (kernel !== undefined) checkKernel('setDefaultKernel', kernel);
  chosen = kernel;
}

/** What `setDefaultKernel` was given last, else `composed()`. */
export function defaultKernel(): AttentionKernel {
  return chosen ?? composed();
}
