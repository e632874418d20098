// The compiled module, and its instances: one for each memory it works in.
import { hasWasmHeap, heapMemory } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../kernel-options';
import { plain, relaxed } from './compiled';

/** A kernel in the heap of tfjs, and how much it computes at once. */
export interface Runner {
  readonly kernel: KernelExports;
  readonly tile: TileSizes;
}

/** What `assembly/index.ts` exports. */
export interface KernelExports {
  workspaceBytes(call: number, isBackward: boolean): number;
  initWorkspace(call: number, workspace: number, isBackward: boolean): void;
  tileCount(call: number): number;
  forward(call: number, workspace: number, from: number, to: number): void;
  backward(call: number, gradients: number, workspace: number, from: number, to: number): void;
  beginRows(call: number, workspace: number, head: number, first: number): void;
  weights(call: number, workspace: number, first: number, from: number, to: number, at: number): number;
}

/** Relaxed SIMD multiplies and adds in one step: about a quarter faster. */
export type SimdKind = 'plain' | 'relaxed';

const texts: Readonly<Record<SimdKind, string>> = { plain, relaxed };
const modules = new Map<SimdKind, WebAssembly.Module>();
const sharedModules = new Map<SimdKind, WebAssembly.Module>();
const instances = new WeakMap<WebAssembly.Memory, Map<SimdKind, KernelExports>>();

/** Why tensors cannot be worked on where they lie; empty where they can. */
export function reasonsWithoutHeap(): string[] {
  if (hasWasmHeap() && heapMemory()) return [];
  return [
    `backend "${tf.getBackend()}" has no heap that it could work on: take "wasm", or the kernel composed`,
  ];
}

/** Whether this engine knows relaxed SIMD, now. */
export function knowsRelaxedSimd(): boolean {
  return modules.has('relaxed') || WebAssembly.validate(bytesOf('relaxed', false));
}

/** Switches relaxed SIMD on in Node 20, which has it behind a flag of the whole process; elsewhere it does nothing. */
export function enableRelaxedSimd(): void {
  if (knowsRelaxedSimd()) return;
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const v8 = process?.getBuiltinModule?.('node:v8') as { setFlagsFromString(flag: string): void } | undefined;
  v8?.setFlagsFromString('--experimental-wasm-relaxed-simd');
}

/** Compiles in the background what `kernelIn` would compile at once. */
export async function compileModule(simd: SimdKind, isShared: boolean): Promise<WebAssembly.Module> {
  const known = isShared ? sharedModules : modules;
  const module = known.get(simd) ?? (await WebAssembly.compile(bytesOf(simd, isShared)));
  known.set(simd, module);
  return module;
}

/** The functions of the module, working in a memory. */
export function kernelIn(memory: WebAssembly.Memory, simd: SimdKind): KernelExports {
  const ofMemory = instances.get(memory) ?? new Map<SimdKind, KernelExports>();
  instances.set(memory, ofMemory);
  let kernel = ofMemory.get(simd);
  if (!kernel) {
    const isShared = sharesMemory(memory);
    const known = isShared ? sharedModules : modules;
    const module = known.get(simd) ?? new WebAssembly.Module(bytesOf(simd, isShared));
    known.set(simd, module);
    kernel = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelExports;
    ofMemory.set(simd, kernel);
  }
  return kernel;
}

/** Whether threads can share a memory. That of tfjs is such a one where its own threads run. */
export function sharesMemory({ buffer }: WebAssembly.Memory): boolean {
  return typeof SharedArrayBuffer !== 'undefined' && (buffer as ArrayBufferLike) instanceof SharedArrayBuffer;
}

function bytesOf(simd: SimdKind, isShared: boolean): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(texts[simd]), (character) => character.charCodeAt(0));
  return isShared ? importingSharedMemory(bytes) : bytes;
}

/**
 * The same module for a memory that threads share: only the entry of the memory that it imports says so, and must then name
 * a maximum.
 */
function importingSharedMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const sectionStart = [1, 3, ...codes('env'), 6, ...codes('memory'), 2];
  const notShared = [0, 0]; // no maximum; at least 0 pages
  const shared = [3, 0, 0x80, 0x80, 4]; // shared, with a maximum; at least 0 pages, at most 65536
  const at = bytes.findIndex((_, n) =>
    [...sectionStart, ...notShared].every((byte, k) => bytes[n + k] === byte),
  );
  const end = at + sectionStart.length;
  const size = bytes[at - 1]! + shared.length - notShared.length; // of the section, whose only entry it is
  return Uint8Array.from([
    ...bytes.subarray(0, at - 1),
    size,
    ...sectionStart,
    ...shared,
    ...bytes.subarray(end + notShared.length),
  ]);
}

function codes(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
