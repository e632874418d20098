import type { AttentionKernel } from '@polyhead/core';
import { chooseKernel, normalizeOptions, wrapKernel } from '@polyhead/core/kernel';
import { withKind } from '@polyhead/core/layer';
import { flashCpu } from './cpu/flash-cpu';
import { type FlashWasmOptions, flashWasm } from './wasm/flash-wasm';

/** Of the kernel for wasm; the other has one thread. */
export type FlashOptions = Pick<FlashWasmOptions, 'relaxedSimd' | 'threads'>;

/**
 * Fused attention (Dao et al. 2022, 2205.14135): the kernel that is made for the current backend, chosen at each call. On
 * wasm it is compiled to WebAssembly, on cpu plain JavaScript, which also runs wherever tensors can be read at once.
 *
 * @example
 * const kernel = firstSupported([flash(), composed()]);
 * const { output } = attend(kernel, { query, key, value }, { mask: causal() });
 * @throws ConfigError for options that cannot be
 */
export const flash = /* @__PURE__ */ withKind(
  'flash',
  ['options'],
  (options: FlashOptions = {}): AttentionKernel => {
    const known = normalizeOptions('flash', 'options', options, ['relaxedSimd', 'threads']);
    const asksThreads = (known.threads ?? 1) > 1;
    const cpu = wrapKernel(flashCpu(), {
      notes: () => (asksThreads ? ['one thread: others need backend "wasm"'] : []),
    });
    return {
      ...chooseKernel('flash', [flashWasm(known), cpu]),
      toJSON: () => ({ kind: 'flash', options: known }),
    };
  },
);
