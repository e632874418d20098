// The compiled module, and what it exports.
import {
  reasonsWithoutHeap as reasons,
  type SimdKind,
  type UnitExports,
  WasmModules,
} from '@polyhead/core/kernel';
import type { TileSizes } from '../kernel-options';
import { plain, relaxed } from './compiled';

/** A kernel in the heap of tfjs, and how much it computes at once. */
export interface Runner {
  readonly kernel: KernelExports;
  readonly tile: TileSizes;
}

/** What `assembly/index.ts` exports. */
export interface KernelExports extends UnitExports {
  all(call: number, workspace: number): void;
  forward(call: number, workspace: number, from: number, to: number): void;
  beginRows(call: number, workspace: number, head: number, first: number): void;
  weights(call: number, workspace: number, first: number, from: number, to: number, at: number): number;
}

export const modules = /* @__PURE__ */ new WasmModules<KernelExports>({ plain, relaxed });

/** The functions of the module, working in a memory. */
export function kernelIn(memory: WebAssembly.Memory, simd: SimdKind): KernelExports {
  return modules.instanceIn(memory, simd);
}

/** Why tensors cannot be worked on where they lie; empty where they can. */
export function reasonsWithoutHeap(): string[] {
  return reasons('the kernel composed');
}
