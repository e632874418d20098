export { type AttentionCase, attentionCase, type CaseRow } from './attention-case';
export type { Refusable } from './cases';
export { describeKernel, type KernelSuite } from './describe-kernel';
export { expectClose } from './expect-close';
export { type GoldenCase, type GoldenTensor, golden, goldenCases } from './golden';
export { randomTensor, seededRandom, tabulate } from './inputs';
export { type Numbers, toHost, toTensor, toTensors } from './kernel-run';
export { layerOracle } from './layer-oracle';
export { layerGradients, layerNumbers } from './layer-run';
export {
  attentionOracle,
  entryAt,
  type HostTensor,
  type OracleInputs,
  type OracleResult,
  type Sizes,
} from './oracle';
