// For authors of layers, position methods and caches.
export { addBroadcast } from './backend/add-broadcast';
export { cleanTidy } from './backend/clean-tidy';
export {
  checkFlag,
  checkNumber,
  checkOneOf,
  checkSizes,
} from './checks/check-config';
export { checkTokenPositions } from './checks/check-positions';
export { checkTensor } from './checks/check-tensor';
export { normalizeOptions, optionsOfCall } from './checks/normalize-options';
export { type Kind, withKind } from './contract/json';
export { attendHeads, type HeadsCall } from './layer/attend-heads';
export { type AttentionSizes, attentionSizes, projectionShapes } from './layer/attention-config';
export { AttentionLayer, type VariantDescription } from './layer/attention-layer';
export { rowsOfHeads } from './layer/head-rows';
export { splitAs, UnsplitHeads } from './layer/heads';
export { normalize } from './layer/normalize';
export { outputRows } from './layer/output-rows';
export { seedOf } from './layer/seed';
export { removableOf } from './layer/shared-rows';
export type { WeightSource, WeightStep, WeightTable } from './layer/weight-table';
export {
  type StoredMatrix,
  storeMatrix,
  type WeightOptions,
  Weights,
  withStoredMatrices,
} from './layer/weights';
export { type ProjectOptions, project } from './products/project';
