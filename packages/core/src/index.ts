export { addAll } from './add-all';
export { attend } from './attend';
export { attendHeads, type HeadsCall } from './attend-heads';
export {
  type AttentionConfig,
  type AttentionSizes,
  attentionSizes,
  projectionShapes,
} from './attention-config';
export { AttentionLayer, type AttentionParts } from './attention-layer';
export { type CallTensors, callTensors } from './call-tensors';
export { checkKnownOptions, checkNumber, checkRate, checkSizes, checkSoftcap } from './checks/check-config';
export { checkLayerCall, checkLayerInputs } from './checks/check-layer';
export { checkTensor } from './checks/check-tensor';
export { given } from './checks/given';
export { cleanTidy } from './clean-tidy';
export { composed } from './composed/composed';
export { dropoutFactor, dropoutKeeps, dropoutRow } from './dropout';
export {
  AttentionError,
  ConfigError,
  isAttentionError,
  ShapeError,
  UnsupportedError,
} from './errors';
export { type ChosenKernel, type Explanation, firstSupported } from './first-supported';
export { differentiable, secondOrder } from './gradient';
export { fromSequenceMajor, mergeHeads, splitHeads } from './heads';
export type {
  AttendOptions,
  AttendResult,
  AttentionInputs,
  AttentionKernel,
  KernelCall,
  KernelResult,
  ScoreOptions,
} from './kernel';
export { kernelCall } from './kernel-call';
export type {
  CacheShape,
  KeyValueCache,
  KeyValuePart,
  RowMatrix,
  StoredKeyValue,
} from './key-value-cache';
export type {
  Attention,
  LayerCall,
  LayerInputs,
  LayerParts,
  LayerResult,
  NamedVariable,
} from './layer';
export type { Mask, MaskCall, MaskPlan, MaskRow, Span } from './mask';
export { compileMask, type MaskGeometry, planOfRows } from './mask-plan';
export { allOf } from './masks/all-of';
export { anyOf } from './masks/any-of';
export { causal } from './masks/causal';
export { chunks } from './masks/chunks';
export { dense } from './masks/dense';
export { globalTokens } from './masks/global-tokens';
export { leftPadding } from './masks/left-padding';
export { type PairPredicate, predicate } from './masks/predicate';
export { prefix } from './masks/prefix';
export { segments } from './masks/segments';
export { slidingWindow } from './masks/sliding-window';
export { validLengths } from './masks/valid-lengths';
export { normalise, type QueryKeyNorm } from './normalise';
export type {
  DistanceIndex,
  DistanceTable,
  PositionMethod,
  Positions,
  RelativeTables,
  TokenPositions,
} from './position';
export { project } from './project';
export { readsAtOnce } from './reads-at-once';
export { type AttentionAndWeights, scaledDotProductAttention } from './scaled-dot-product-attention';
export { seedOf } from './seed';
export { distancesBetween, positionsOf } from './token-positions';
export {
  addressOnHeap,
  emptyOnHeap,
  floatsOnHeap,
  giveToHeap,
  hasWasmHeap,
  heapMemory,
  takeFromHeap,
  viewsOnHeap,
} from './wasm-heap';
export { countParameters, glorotUniform, type Initialiser, type VariableShapes, Weights } from './weights';
