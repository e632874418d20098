export {
  type AttentionFactory,
  type AttentionFactoryParts,
  type BlockCall,
  type BlockOptions,
  type BlockParts,
  type BlockResult,
  type LayerOutput,
  TransformerBlock,
} from './blocks/transformer-block';
export { configFromGguf, type GgufOptions } from './families/config-from-gguf';
export { configFromHuggingFace } from './families/config-from-hugging-face';
export type { ModelDescription } from './families/model-description';
export { cachePlan, type LayerKinds, type LayerPlan } from './generation/cache-plan';
export {
  type GeneratedStep,
  type GeneratedToken,
  type GenerateOptions,
  generate,
} from './generation/generate';
export {
  type CacheFactory,
  type CachePlan,
  type CachePlans,
  ModelCache,
} from './generation/model-cache';
export {
  type Sampling,
  type TokenProbabilities,
  tokenProbabilities,
} from './generation/next-token';
export {
  type GenerateTextOptions,
  generateText,
  TextStream,
  type TextTokenizer,
} from './generation/text';
export type { Activation } from './layers/activation';
export { Dense, type DenseConfig } from './layers/dense';
export type { Training } from './layers/dropout';
export { Embedding, type EmbeddingConfig } from './layers/embedding';
export { FeedForward, type FeedForwardConfig, type FeedForwardOptions } from './layers/feed-forward';
export type { LayerParts, ModelPart } from './layers/layer';
export {
  LayerNorm,
  type LayerNormConfig,
  type NormOptions,
  RmsNorm,
  type RmsNormConfig,
} from './layers/norm';
export { zeros } from './layers/zeros';
export type { AbsolutePosition, StackAttention, StackConfig, StackParts } from './models/block-stack';
export type {
  CausalCall,
  CausalModel,
  CausalResult,
  EncoderCall,
  EncoderResult,
  LayerCacheShapes,
  LayerCaches,
  SequenceToSequenceModel,
} from './models/causal-model';
export { Decoder, type DecoderParts } from './models/decoder';
export type { DecoderConfig } from './models/decoder-config';
export { Encoder } from './models/encoder';
export {
  EncoderDecoder,
  type EncoderDecoderConfig,
  type EncoderDecoderParts,
} from './models/encoder-decoder';
export type { LogitPart, LogitParts } from './models/logit-parts';
