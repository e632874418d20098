export { VariantAttention, type VariantConfig, variableShapes } from './variant-attention';
