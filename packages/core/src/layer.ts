// For authors of layers, position methods and caches.
export { cleanTidy } from './backend/clean-tidy';
export { checkNumber, checkRate, checkSizes, checkSoftcap } from './checks/check-config';
export { checkLayerCall, checkLayerInputs } from './checks/check-layer';
export { checkTokenPositions } from './checks/check-positions';
export { checkTensor } from './checks/check-tensor';
export { normalizeOptions } from './checks/normalize-options';
export { attendHeads, type HeadsCall } from './layer/attend-heads';
export { type AttentionSizes, attentionSizes, projectionShapes } from './layer/attention-config';
export { AttentionLayer } from './layer/attention-layer';
export { normalize } from './layer/normalize';
export { project } from './layer/project';
export { seedOf } from './layer/seed';
export { Weights } from './layer/weights';
