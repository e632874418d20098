// Modules of kernels that work in the memory of tfjs's wasm backend, as `scripts/compile-wasm.ts` writes them down: compiled
// once for each kind of memory, with an instance for each memory they work in.
import * as tf from '@tensorflow/tfjs-core';
import { ConfigError } from '../contract/errors';
import { hasWasmHeap, heapMemory } from './wasm-heap';

/** Relaxed SIMD multiplies and adds in one step: about a quarter faster. */
export type SimdKind = 'plain' | 'relaxed';

/** 'auto': relaxed SIMD where the engine knows it. true: switched on where it is behind a flag. false: never. */
export type RelaxedSimd = 'auto' | boolean;

/** Why tensors cannot be worked on where they lie; empty where they can. */
export function reasonsWithoutHeap(instead: string): string[] {
  if (hasWasmHeap() && heapMemory()) return [];
  return [`backend "${tf.getBackend()}" has no heap that it could work on: take "wasm", or ${instead}`];
}

/** Whether threads can share a memory. That of tfjs is such a one where its own threads run. */
export function sharesMemory({ buffer }: WebAssembly.Memory): boolean {
  return typeof SharedArrayBuffer !== 'undefined' && (buffer as ArrayBufferLike) instanceof SharedArrayBuffer;
}

/** How many threads TensorFlow.js computes with on wasm; one on other backends. */
export function backendThreads(): number {
  const memory = hasWasmHeap() ? heapMemory() : undefined;
  if (!memory || !sharesMemory(memory)) return 1;
  const { wasm } = tf.backend() as unknown as { readonly wasm: { readonly tfjs?: TfjsFunctions } };
  return wasm.tfjs?.getThreadsCount?.() ?? 1;
}

interface TfjsFunctions {
  getThreadsCount?(): number;
}

/** The two builds of a kernel. */
export class WasmModules<Exports> {
  readonly #texts: Readonly<Record<SimdKind, string>>;
  readonly #modules = new Map<SimdKind, WebAssembly.Module>();
  readonly #sharedModules = new Map<SimdKind, WebAssembly.Module>();
  readonly #instances = new WeakMap<WebAssembly.Memory, Map<SimdKind, Exports>>();

  /** @param texts the modules in hexadecimal digits */
  constructor(texts: Readonly<Record<SimdKind, string>>) {
    this.#texts = texts;
  }

  /**
   * Which build serves, from now on.
   *
   * @throws ConfigError for what is no `RelaxedSimd`
   */
  choose(where: string, relaxedSimd: RelaxedSimd): () => SimdKind {
    if (relaxedSimd !== 'auto' && typeof relaxedSimd !== 'boolean')
      throw new ConfigError(where, "relaxedSimd must be 'auto', true or false", { relaxedSimd });
    let chosen: SimdKind | undefined;
    return () => {
      if (relaxedSimd === true && chosen === undefined) this.enableRelaxedSimd();
      chosen ??= relaxedSimd !== false && this.knowsRelaxedSimd() ? 'relaxed' : 'plain';
      return chosen;
    };
  }

  /** Whether this engine knows relaxed SIMD, now. */
  knowsRelaxedSimd(): boolean {
    return this.#modules.has('relaxed') || WebAssembly.validate(this.#bytesOf('relaxed', false));
  }

  /** Switches relaxed SIMD on in Node 20, which has it behind a flag of the whole process; elsewhere it does nothing. */
  enableRelaxedSimd(): void {
    if (this.knowsRelaxedSimd()) return;
    const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
    const v8 = process?.getBuiltinModule?.('node:v8') as
      | { setFlagsFromString(flag: string): void }
      | undefined;
    v8?.setFlagsFromString('--experimental-wasm-relaxed-simd');
  }

  /** Compiles in the background what `instanceIn` would compile at once. */
  async compile(simd: SimdKind, isShared: boolean): Promise<WebAssembly.Module> {
    const known = isShared ? this.#sharedModules : this.#modules;
    const module = known.get(simd) ?? (await WebAssembly.compile(this.#bytesOf(simd, isShared)));
    known.set(simd, module);
    return module;
  }

  /** The functions of the module, working in a memory. */
  instanceIn(memory: WebAssembly.Memory, simd: SimdKind): Exports {
    let ofMemory = this.#instances.get(memory);
    if (!ofMemory) {
      ofMemory = new Map();
      this.#instances.set(memory, ofMemory);
    }
    let exports = ofMemory.get(simd);
    if (!exports) {
      const isShared = sharesMemory(memory);
      const known = isShared ? this.#sharedModules : this.#modules;
      const module = known.get(simd) ?? new WebAssembly.Module(this.#bytesOf(simd, isShared));
      known.set(simd, module);
      exports = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Exports;
      ofMemory.set(simd, exports);
    }
    return exports;
  }

  #bytesOf(simd: SimdKind, isShared: boolean): Uint8Array<ArrayBuffer> {
    const digits = this.#texts[simd];
    const byte = (_: unknown, n: number) => Number.parseInt(digits.slice(2 * n, 2 * n + 2), 16);
    const bytes = Uint8Array.from({ length: digits.length / 2 }, byte);
    return isShared ? importingSharedMemory(bytes) : bytes;
  }
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
