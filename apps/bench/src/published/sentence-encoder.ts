// Universal Sentence Encoder Lite (Cer et al. 2018, arXiv:1803.11175) run by TensorFlow.js's own graph executor. It is
// the independent witness: what goes into each layer's attention, its weights and what comes out are read from the graph.
import { loadGraphModel } from '@tensorflow/tfjs-converter';
import * as tf from '@tensorflow/tfjs-core';
import type { ModelFiles } from './model-files';

/** The graph drops every token after this one. */
export const maxTokens = 128;

/** One layer's attention as the graph computed it. Right-padded to the longest sentence; the caller disposes. */
export type AttentionRecord = {
  readonly input: tf.Tensor3D; // [B, S, E]
  readonly weights: tf.Tensor4D; // [B, H, S, S]
  readonly output: tf.Tensor3D; // [B, S, outputDim], before the residual
};

export interface SentenceEncoder {
  /** Both layers' attention for a batch of token ids. */
  record(batch: readonly (readonly number[])[]): Promise<AttentionRecord[]>;
  dispose(): void;
}

export const layerCount = 2;

const stack = 'module_apply_default/Encoder_en/KonaTransformer/Encode/TransformerStack';
const recordedNodes = Array.from(
  { length: layerCount },
  (_, layer) => `${stack}/Layer_${layer}/TransformerLayer`,
).flatMap((path) => [
  `${path}/layer_prepostprocess/layer_norm/add_1`,
  `${path}/MultiheadAttention/DotProductAttention/BaseDotProductAttention/attention_weights`,
  `${path}/MultiheadAttention/Squeeze_1`,
]);

export async function loadSentenceEncoder(files: ModelFiles): Promise<SentenceEncoder> {
  const { topology, weightSpecs, weightData } = files;
  const artifacts = { modelTopology: topology, weightSpecs: [...weightSpecs], weightData };
  const graph = await loadGraphModel({ load: async () => artifacts });
  return {
    record: async (batch) => {
      const tokens = batch.flatMap((ids, b) => ids.map((id, position) => ({ id, at: [b, position] })));
      const indices = tf.tensor2d(
        tokens.map(({ at }) => at),
        [tokens.length, 2],
        'int32',
      );
      const values = tf.tensor1d(
        tokens.map(({ id }) => id),
        'int32',
      );
      const nodes = (await graph.executeAsync({ indices, values }, recordedNodes)) as tf.Tensor[];
      tf.dispose([indices, values]);
      return Array.from({ length: layerCount }, (_, layer) => {
        const [input, weights, output] = nodes.slice(3 * layer);
        return { input, weights, output } as AttentionRecord;
      });
    },
    dispose: () => graph.dispose(),
  };
}
