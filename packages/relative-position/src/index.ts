export type { AbsolutePosition } from './absolute-position';
export { type AlibiConfig, alibi, alibiSlopes } from './alibi';
export { type BertRelativeConfig, bertRelative } from './bert-relative';
export {
  type DebertaConfig,
  type DebertaParts,
  type DebertaTerm,
  deberta,
  debertaBucket,
  debertaLayerOptions,
} from './deberta';
export { type LearnedConfig, learned } from './learned';
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
export { type SinusoidalConfig, sinusoidal } from './sinusoidal';
export { type SwinConfig, swin, windowPositions } from './swin';
export { type T5Config, t5, t5Bucket, t5LayerOptions } from './t5';
export type { PositionParts, TrainedPosition } from './trained-position';
export { type TransformerXLConfig, transformerXL } from './transformer-xl';
