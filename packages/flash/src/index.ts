export { flash } from './flash';
export { mergeAttention, type PartialAttention } from './merge-attention';
