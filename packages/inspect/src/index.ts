export { ablateHeads } from './ablate-heads';
export { type AttentionCost, attentionCost, type CostCall, type Flops } from './attention-cost';
export { attentionRollout, type RolloutOptions } from './attention-rollout';
export { type CacheExtent, type CacheStorage, cacheBytes, storageBits } from './cache-bytes';
export { headDivergence } from './head-divergence';
export { type HeadKinds, headKinds } from './head-kinds';
export type { HeadPattern } from './head-pattern';
export { type HeadStatistics, headStatistics, type StatisticsOptions } from './head-statistics';
export { type HeadWeights, type MapTokens, readHeads } from './head-weights';
export { cacheShape, type LayerConfig, type ShapesOfVariant } from './layer-config';
export {
  type HeadLoss,
  type HeadPlace,
  type ModelLoss,
  type SilencingOptions,
  silenceEach,
  silenceGreedily,
  silenceInTurn,
} from './loss-without-heads';
export { type BytesByStorage, type ModelPlan, planModel } from './model-plan/plan-model';
export type { PlannedAttention } from './model-plan/planned-attention';
export { type FixedPlace, type LabelledPair, type PairScores, pairScores } from './pair-scores';
export { type Matrix, principalAngles } from './principal-angles';
export type { EntryOptions } from './read-entry';
export { type Beside, blockLabels, blockMeans, type RowValues, readRows } from './row-values';
export { silenceHeads } from './silence-heads';
export { type SvgMapOptions, svgHeadMaps } from './svg-head-maps';
export { type TextMapOptions, type TextMaps, textHeadMaps } from './text-head-maps';
export { printable } from './token-label';
export { type TypicalModel, typicalModels } from './typical-models';
export { type PairsCall, visiblePairs } from './visible-pairs';
