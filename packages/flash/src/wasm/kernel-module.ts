// The compiled module, and its instances: one for each memory it works in.
import type { TileSizes } from '../tile-options';
import { plain, relaxed } from './compiled';

/** A kernel, and how much it computes at once. */
export interface Runner {
  readonly kernel: KernelExports;
  readonly tile: TileSizes;
}

/** What `assembly/index.ts` exports. */
export interface KernelExports {
  roomBytes(call: number, isBackward: boolean): number;
  beginRoom(call: number, room: number, isBackward: boolean): void;
  tileCount(call: number): number;
  forward(call: number, room: number, from: number, to: number): void;
  backward(call: number, gradients: number, room: number, from: number, to: number): void;
}

/** Relaxed SIMD multiplies and adds in one step: about a quarter faster. */
export type SimdKind = 'plain' | 'relaxed';

const bytes = {
  plain: () => bytesOf(plain),
  relaxed: () => bytesOf(relaxed),
};
const modules = new Map<SimdKind, WebAssembly.Module>();
const instances = new WeakMap<WebAssembly.Memory, Map<SimdKind, KernelExports>>();

/** Whether this engine knows relaxed SIMD, now. */
export function knowsRelaxedSimd(): boolean {
  return modules.has('relaxed') || WebAssembly.validate(bytes.relaxed());
}

/** Switches relaxed SIMD on in Node 20, which has it behind a flag of the whole process; elsewhere it does nothing. */
export function enableRelaxedSimd(): void {
  if (knowsRelaxedSimd()) return;
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const v8 = process?.getBuiltinModule?.('node:v8') as { setFlagsFromString(flag: string): void } | undefined;
  v8?.setFlagsFromString('--experimental-wasm-relaxed-simd');
}

/** Compiles in the background what `kernelIn` would compile at once. */
export async function compileModule(kind: SimdKind): Promise<void> {
  if (!modules.has(kind)) modules.set(kind, await WebAssembly.compile(bytes[kind]()));
}

/** The functions of the module, working in a memory. */
export function kernelIn(memory: WebAssembly.Memory, kind: SimdKind): KernelExports {
  const known = instances.get(memory) ?? new Map<SimdKind, KernelExports>();
  instances.set(memory, known);
  let found = known.get(kind);
  if (!found) {
    const module = modules.get(kind) ?? new WebAssembly.Module(bytes[kind]());
    modules.set(kind, module);
    found = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelExports;
    known.set(kind, found);
  }
  return found;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
