// The interface types are passed on, so that a package of variants is all an application imports.
export type { Attention, LayerCall, LayerInputs, LayerResult } from '@polyhead/core';
export { VariantAttention, type VariantConfig, variableShapes } from './variant-attention';
