import v8 from 'node:v8';

/**
 * Node 20 keeps relaxed SIMD behind a flag of V8, which then holds for the whole process: a library must not set it, a
 * bench may. Newer versions have it on.
 *
 * @returns what was done, where anything was
 */
export function allowRelaxedSimd(): string | undefined {
  if (!process.versions.node.startsWith('20.')) return undefined;
  v8.setFlagsFromString('--experimental-wasm-relaxed-simd');
  return 'relaxed SIMD, off by default in Node 20, is switched on here by the flag --experimental-wasm-relaxed-simd';
}
