export { type AttentionCase, attentionCase, type CaseRow } from './attention-case';
export type { Refusable } from './cases';
export { describeKeras } from './describe-keras';
export { describeKernel, type KernelSuite } from './describe-kernel';
export { describeVariant, type VariantSuite, variantChecks } from './describe-variant';
export { expectClose } from './expect-close';
export { type GoldenCase, type GoldenTensor, golden, goldenCases } from './golden';
export { randomTensor, seededRandom, tabulate } from './inputs';
export { type Numbers, toHost, toTensor, toTensors } from './kernel-run';
export type { LayerConfig } from './layer-case';
export { layerOracle } from './layer-oracle';
export { layerGradients, layerNumbers } from './layer-run';
export { expectFlatHeap, expectSameMemory, heapBytes, memoryNow } from './memory';
export { useOpaqueBackend } from './opaque-backend';
export {
  attentionOracle,
  entryAt,
  type HostTensor,
  type OracleInputs,
  type OracleResult,
  type Sizes,
} from './oracle';
export { samplePositions } from './sample-positions';
export { expectNumbers, numbersOf } from './scene';
export { commonOptions, type LayerOption } from './variant-checks/suite';
