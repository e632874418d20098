// For authors of kernels, and of whatever computes on a backend.
export { cleanTidy } from './backend/clean-tidy';
export { addAll } from './backend/device-math';
export { HeapBlocks } from './backend/heap-blocks';
export { type BackendTraits, backendTraits, setBackendTraits } from './backend/traits';
export {
  addressOnHeap,
  allocateOnHeap,
  emptyOnHeap,
  floatsOnHeap,
  freeOnHeap,
  hasWasmHeap,
  heapMemory,
  type MemoryWords,
  viewsOnHeap,
  wordsOf,
} from './backend/wasm-heap';
export {
  type RelaxedSimd,
  reasonsWithoutHeap,
  type SimdKind,
  WasmModules,
} from './backend/wasm-modules';
export { checkSizes } from './checks/check-config';
export { checkTensor } from './checks/check-tensor';
export { normalizeOptions } from './checks/normalize-options';
export { type CallTensors, callTensors } from './kernel/call-tensors';
export { dropoutFactor, dropoutKeeps, dropoutRow } from './kernel/dropout';
export { chooseKernel } from './kernel/first-supported';
export { differentiable } from './kernel/gradient';
export { kernelCall } from './kernel/kernel-call';
export { materialized } from './kernel/materialized';
export { positionsOf } from './kernel/token-positions';
export { type Passes, type ResultGradients, withGradient } from './kernel/with-gradient';
export { type KernelWrapper, wrapKernel } from './kernel/wrap-kernel';
export { compileMask, countPairs, type MaskGeometry, planOfSpans } from './masks/compile-mask';
export { bytesOf } from './threads/copied-blocks';
export {
  type SharedPass,
  ThreadPool,
  type ThreadPoolOptions,
  type UnitExports,
} from './threads/thread-pool';
export type { PassCost } from './threads/worth';
