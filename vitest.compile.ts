// Kernels in AssemblyScript are compiled before the first test, where they have changed.
export { compileWasm as setup } from './scripts/compile-wasm';
