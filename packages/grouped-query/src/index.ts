// The interface types are passed on, so that a package of variants is all an application imports.
export type { Attention, LayerCall, LayerInputs, LayerResult } from '@polyhead/core';
export { fromMultiHead } from './from-multi-head';
export { GroupedQueryAttention, type GroupedQueryConfig, variableShapes } from './grouped-query-attention';
