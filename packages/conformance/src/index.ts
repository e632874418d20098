export { type AttentionCase, attentionCase, type CaseRow } from './attention-case';
export type { Refusable } from './cases';
export { describeKeras } from './describe-keras';
export { describeKernel, type KernelSuite } from './describe-kernel';
export { describeProducts, type ProductSuite } from './describe-products';
export { describeVariant, type VariantSuite, variantChecks } from './describe-variant';
export { expectClose, expectSlopes } from './expect-close';
export { type GoldenCase, type GoldenTensor, golden, goldenCases } from './golden';
export {
  type HostTensors,
  type Numbers,
  type Slope,
  slopeOf,
  weightedSum,
} from './gradients';
export { type CellChange, leaveToHelpers } from './helping-threads';
export { mergeHostHeads, projectHost, splitHostHeads } from './host-heads';
export { randomTensor, seededRandom, tabulate } from './inputs';
export type { KernelUnderTest } from './kernel-checks/suite';
export { type KernelOracle, readAll, toHost, toTensor, toTensors } from './kernel-run';
export type { LayerConfig, LayerRow } from './layer-case';
export { type LayerOracle, type LayerOracleInputs, layerOracle } from './layer-oracle';
export { layerGradients, layerNumbers, tokenByToken } from './layer-run';
export { bytesDuring, expectFlatHeap, expectSameMemory, heapBytes, memoryNow } from './memory';
export { useOpaqueBackend } from './opaque-backend';
export {
  attentionOracle,
  entryAt,
  type HostTensor,
  type OracleInputs,
  type OracleResult,
  type Sizes,
} from './oracle';
export { positionCells } from './position-checks/position-cells';
export type { PositionOracle } from './position-checks/position-oracle';
export {
  alibiOracle,
  axialRotaryOracle,
  bertRelativeOracle,
  debertaOracle,
  rotaryOracle,
  shawOracle,
  swinOracle,
  t5Oracle,
  transformerXLOracle,
} from './position-checks/position-oracles';
export type { PositionCase, PositionCell, PositionSuite, PositionVariant } from './position-checks/suite';
export { samplePositions } from './sample-positions';
export { sampled } from './sampled';
export { expectNumbers, numbersOf } from './scene';
export { useSharedHeap } from './shared-heap';
export { fromLinears, type Linear } from './torch-linears';
export {
  commonOptions,
  type LayerOption,
  type Returned,
  type Variant,
  type VariantTraits,
} from './variant-checks/suite';
