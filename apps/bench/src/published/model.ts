// Universal Sentence Encoder Lite ready to use: its tokenizer, its graph, and its attention as layers of this project.
import type { MultiHeadAttention } from '@polyhead/multi-head';
import { publishedAttention } from './attention';
import type { ModelFiles } from './model-files';
import { type AttentionRecord, layerCount, loadSentenceEncoder } from './sentence-encoder';
import { createTokenizer, type Tokenizer } from './tokenizer';

export interface PublishedModel {
  readonly tokenize: Tokenizer;
  /** Both layers' attention as the model's graph computes it. */
  record(batch: readonly (readonly number[])[]): Promise<AttentionRecord[]>;
  readonly layers: readonly MultiHeadAttention[];
  dispose(): void;
}

/** On the current backend. */
export async function loadPublishedModel(files: ModelFiles): Promise<PublishedModel> {
  const encoder = await loadSentenceEncoder(files);
  const layers = Array.from({ length: layerCount }, (_, layer) => publishedAttention(files, layer));
  return {
    tokenize: createTokenizer(files.vocabulary),
    record: encoder.record,
    layers,
    dispose: () => {
      encoder.dispose();
      for (const layer of layers) layer.dispose();
    },
  };
}
