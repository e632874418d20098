export type { AbsolutePosition } from './absolute/absolute-position';
export { type LearnedConfig, learned } from './absolute/learned';
export { type SinusoidalConfig, sinusoidal } from './absolute/sinusoidal';
export { type AlibiConfig, alibi, alibiSlopes } from './alibi';
export { type BertRelativeConfig, bertRelative } from './bert-relative';
export { type DebertaParts, deberta } from './deberta/deberta';
export type {
  DebertaConfig,
  DebertaDistances,
  DebertaEmbeddingsConfig,
  DebertaTerm,
} from './deberta/deberta-config';
export { type DebertaEmbeddings, debertaEmbeddings } from './deberta/deberta-embeddings';
export { debertaBucket } from './deberta/distance-rows';
export type { PositionParts, TrainedPosition } from './position-method';
export {
  RelativePositionAttention,
  type RelativePositionConfig,
  variableShapes,
} from './relative-position-attention';
export { type AxialRotaryConfig, axialRotary, gridPositions } from './rotary/axial-rotary';
export { type PairingOptions, toHalfSplitPairs, toInterleavedPairs } from './rotary/pairing';
export { type RotaryConfig, rotary } from './rotary/rotary';
export type {
  DynamicScaling,
  LinearScaling,
  Llama3Scaling,
  LongRopeScaling,
  NtkScaling,
  RotaryScaling,
  YarnScaling,
} from './rotary/rotary-scaling';
export { type ShawConfig, type ShawOptions, shaw } from './shaw';
export { type SwinConfig, swin, windowPositions } from './swin';
export { type T5Config, t5, t5Bucket } from './t5';
export { type TransformerXLConfig, transformerXL } from './transformer-xl';
