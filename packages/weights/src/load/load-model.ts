// A model of a checkpoint: made by its config, then filled.
import { fromConfig, type Kind } from '@polyhead/core';
import type { WeightTable } from '@polyhead/core/layer';
import type { Checkpoint } from '../checkpoint';
import { type LoadOptions, loadWeights } from './load-weights';
import type { NamedVariables } from './named-variables';

/** What a model is made of, such as `configFromGguf` and `configFromHuggingFace` of @polyhead/transformer give. */
export interface ModelSource {
  /** What `fromConfig` reads. */
  readonly config: object;
  /** Where each variable lies. Default: tensors have the names of the variables, as `saveWeights` writes them. */
  readonly weights?: WeightTable | undefined;
}

/**
 * `fromConfig`, then `loadWeights`. Where it throws, nothing is left in memory.
 *
 * @param kinds the exports that the config may name
 * @param options `keepBlocks`: matrices of 8 and 4 bits stay as they lie in the file. Default: they become floats
 * @throws ConfigError for a config that names others, or says what cannot be
 * @throws ShapeError for a checkpoint of another model; FileError where the file cannot be read
 * @example
 * const checkpoint = await readGguf(await open('model.gguf'));
 * const source = configFromGguf(checkpoint.metadata, checkpoint.tensors);
 * const model = await loadModel<Decoder>(checkpoint, source, [Decoder, zeros, GroupedQueryAttention, rotary]);
 */
export async function loadModel<Model extends NamedVariables & { dispose(): void }>(
  checkpoint: Checkpoint,
  { config, weights }: ModelSource,
  kinds: readonly Kind[],
  options: Pick<LoadOptions, 'keepBlocks'> = {},
): Promise<Model> {
  const model = fromConfig<Model>(config, kinds);
  try {
    await loadWeights(model, checkpoint, weights, options);
    return model;
  } catch (error) {
    model.dispose();
    throw error;
  }
}
