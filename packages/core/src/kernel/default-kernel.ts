// The kernel of layers that have none of their own.
import { checkKernel } from '../checks/check-options';
import { composed } from '../composed/composed';
import type { AttentionKernel } from '../contract/kernel';

/** Found by every copy of this package: an application that mixes versions has several. */
const mark = Symbol.for('polyhead.defaultKernel');
const shared = globalThis as { [mark]?: AttentionKernel | undefined };

/**
 * The kernel of every layer that has none of its own, from now on; a layer's and a call's own kernel win. undefined:
 * `composed()` again.
 *
 * @throws ConfigError for what is no kernel
 * @example setDefaultKernel(firstSupported([flash(), composed()]));
 */
export function setDefaultKernel(kernel: AttentionKernel | undefined): void {
  if (kernel !== undefined) checkKernel('setDefaultKernel', kernel);
  shared[mark] = kernel;
}

/** What `setDefaultKernel` was given last, else `composed()`. */
export function defaultKernel(): AttentionKernel {
  return shared[mark] ?? composed();
}
