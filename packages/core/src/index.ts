// For those who use layers and kernels. Authors of layers find more in `layer.ts`, authors of kernels in `kernel.ts`.
export { composed } from './composed/composed';
export {
  AttentionError,
  ConfigError,
  isAttentionError,
  ShapeError,
  UnsupportedError,
} from './contract/errors';
export { fromConfig, type Kind, toConfig } from './contract/json';
export type {
  AttendOptions,
  AttendResult,
  AttentionInputs,
  AttentionKernel,
  CallSizes,
  KernelCall,
  KernelInputs,
  KernelResult,
  NamedTensors,
  ReturnName,
  ScoreOptions,
} from './contract/kernel';
export type {
  CacheShape,
  ComingRows,
  KeyValueCache,
  KeyValuePart,
  NewRows,
  ReservedRows,
  RowMatrix,
  StagedRows,
  StoredKeyValue,
} from './contract/key-value-cache';
export type {
  Attention,
  LayerCall,
  LayerInputs,
  LayerParts,
  LayerResult,
  LayerReturn,
  NamedVariable,
} from './contract/layer';
export type { Mask, MaskCall, MaskPlan, MaskRow, Span } from './contract/mask';
export type {
  DistanceIndex,
  DistanceTable,
  HeadRows,
  HeadSizes,
  LayerWeights,
  PositionMethod,
  Positions,
  RelativeTables,
  TokenPositions,
} from './contract/position';
export type {
  ProductCall,
  ProductGradients,
  ProductKernel,
  ProductWeights,
  StoredWeights,
} from './contract/products';
export { attend } from './kernel/attend';
export { setDefaultKernel } from './kernel/default-kernel';
export { type ChosenKernel, type Explanation, firstSupported } from './kernel/first-supported';
export { type AttentionAndWeights, scaledDotProductAttention } from './kernel/scaled-dot-product-attention';
export type { AttentionConfig, Projection } from './layer/attention-config';
export type { AttentionParts } from './layer/attention-layer';
export { fromSequenceMajor, mergeHeads, splitHeads } from './layer/heads';
export type { QueryKeyNorm } from './layer/normalize';
export { countParameters, glorotUniform, type Initializer, type VariableShapes } from './layer/weights';
export { allOf } from './masks/all-of';
export { anyOf } from './masks/any-of';
export { causal } from './masks/causal';
export { chunks } from './masks/chunks';
export { countsOf } from './masks/counts-of';
export { dense } from './masks/dense';
export { globalTokens } from './masks/global-tokens';
export { leftPadding } from './masks/left-padding';
export { type PairPredicate, predicate } from './masks/predicate';
export { prefix } from './masks/prefix';
export { segments } from './masks/segments';
export { slidingWindow } from './masks/sliding-window';
export { intersectSpans, normalizeSpans } from './masks/spans';
export { validLengths } from './masks/valid-lengths';
export type { BlockFormat } from './products/blocks';
export { setDefaultProducts } from './products/default-products';
export { type QuantizeReport, quantizeWeights } from './products/quantize-weights';
export { QuantizedWeights, type QuantizeOptions } from './products/quantized-weights';
export { tfjsProducts } from './products/tfjs-products';
