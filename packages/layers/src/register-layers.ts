import type { Kind } from '@polyhead/core';
import { serialization } from '@tensorflow/tfjs-core';
import { AttentionLayer } from './attention-layer';
import { BlockLayer } from './block-layer';
import { EmbeddingLayer } from './embedding-layer';
import { MaskedMeanLayer, MaskLayer } from './keras/mask-layers';
import { addKinds } from './kinds';
import { PartLayer } from './part-layer';

/**
 * Lets tfjs load the layers of this package, made of these exports and no others: a file can make only what was registered.
 * Call it before layers are described by JSON, and before `tf.loadLayersModel`; again with more exports where more are needed.
 *
 * @param kinds `[MultiHeadAttention, rotary, causal, TransformerBlock, …]`
 * @throws ConfigError for what has no kind, and for two exports of one kind
 */
export function registerLayers(kinds: readonly Kind[]): void {
  addKinds(kinds);
  // Registered under names of their own: tfjs holds a class "MultiHeadAttention", which stays.
  for (const layer of [AttentionLayer, BlockLayer, EmbeddingLayer, PartLayer, MaskLayer, MaskedMeanLayer])
    serialization.registerClass(layer as never, 'Polyhead');
}
