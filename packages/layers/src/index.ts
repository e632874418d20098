export {
  type AttentionInput,
  AttentionLayer,
  type AttentionLayerOptions,
  type PartJson,
} from './attention-layer';
export { type BlockInput, BlockLayer, type BlockLayerOptions } from './block-layer';
export { EmbeddingLayer, type EmbeddingLayerOptions } from './embedding-layer';
export { type LoadKerasOptions, loadKerasModel } from './keras/load-keras-model';
export type { Bytes, KerasWeight, KerasWeights, WeightsManifest } from './keras/weights';
export { type MappingPart, PartLayer, type PartLayerOptions } from './part-layer';
export { registerLayers } from './register-layers';
export type { LayerOptions } from './wrapped-layer';
