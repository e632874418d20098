// A model of a checkpoint: made by its config, then filled.
import { fromConfig, type Kind } from '@polyhead/core';
import { type StoredMatrix, type WeightTable, withStoredMatrices } from '@polyhead/core/layer';
import type { Checkpoint } from '../checkpoint';
import { blockMatrix } from './blocks';
import { type LoadOptions, loadWeights } from './load-weights';
import { ownNames, tensorOf } from './match-tensors';
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
 * @param options `keepBlocks`: matrices of 8 and 4 bits stay as they lie in the file, and are never floats. Default: they become
 *   floats
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
  { keepBlocks = false }: Pick<LoadOptions, 'keepBlocks'> = {},
): Promise<Model> {
  const make = () => fromConfig<Model>(config, kinds);
  if (!keepBlocks) return filled(make(), checkpoint, weights);
  const table = weights ?? ownNames([...checkpoint.tensors.keys()].map((name) => ({ name })));
  const all = new Map<string, StoredMatrix>();
  try {
    const tensors = await readBlocks(checkpoint, table, all);
    const left = new Map(all);
    const model = withStoredMatrices(left, make);
    // What the model takes otherwise, or not at all, is loaded, or refused, as what is not in blocks.
    for (const { weights } of left.values()) weights.dispose();
    const isTaken = (name: string) => all.has(name) && !left.has(name);
    const variables = Object.entries(table.variables).filter(([name]) => !isTaken(name));
    const taken = [...tensors].filter(([name]) => isTaken(name)).map(([, tensor]) => tensor);
    const ignored = [...(table.ignored ?? []), ...taken];
    return await filled(model, checkpoint, { ...table, variables: Object.fromEntries(variables), ignored });
  } catch (error) {
    for (const { weights } of all.values()) weights.dispose();
    throw error;
  }
}

/** Loads what are variables. Where it throws, the model is gone. */
async function filled<Model extends NamedVariables & { dispose(): void }>(
  model: Model,
  checkpoint: Checkpoint,
  weights: WeightTable | undefined,
): Promise<Model> {
  try {
    await loadWeights(model, checkpoint, weights);
    return model;
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/**
 * Reads the matrices that a checkpoint holds in blocks, one at a time, and each for one variable only.
 *
 * @param to gets them by the names of variables
 * @returns their tensors' names by the names of variables
 */
async function readBlocks(
  checkpoint: Checkpoint,
  { variables }: WeightTable,
  to: Map<string, StoredMatrix>,
): Promise<ReadonlyMap<string, string>> {
  const tensors = new Map<string, string>();
  for (const [name, source] of Object.entries(variables)) {
    const tensor = tensorOf(source, (tensor) => checkpoint.tensors.has(tensor));
    if (tensor !== undefined) tensors.set(name, tensor);
  }
  const takers = [...tensors.values()];
  for (const [name, tensor] of tensors) {
    const isAlone = takers.indexOf(tensor) === takers.lastIndexOf(tensor);
    const matrix = isAlone && blockMatrix(checkpoint, tensor, variables[name]!.steps);
    if (matrix) to.set(name, { weights: await matrix.read(), isTable: matrix.isTable });
  }
  return tensors;
}
