export { Dense, type DenseConfig } from './layers/dense';
export type { LayerParts, ModelPart } from './layers/layer';
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
