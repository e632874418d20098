// The model that a plan is made for: known by its name, its config.json or from flags.
import { existsSync } from 'node:fs';
import { type CacheShape, isAttentionError } from '@polyhead/core';
import { cacheShape, type LayerConfig, typicalModels } from '@polyhead/inspect';
import { UsageError } from '../command-line/errors';
import { userPath } from '../command-line/user-path';
import { readConfigFile } from './config-file';
import type { PlannedModel } from './planned-model';

/** Sizes that flags give, or change. */
export interface SizeFlags {
  readonly embedDim?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly layers?: number;
}

/**
 * @param modelOrPath a model's name or the path of a config.json; without it the flags are all that is known
 * @throws UsageError for a model that is not known, a file that is no config, or sizes that cannot be
 */
export function chooseModel(modelOrPath: string | undefined, flags: SizeFlags): PlannedModel {
  if (modelOrPath === undefined) return fromFlags(flags);
  return changed(namedModel(modelOrPath) ?? fromFile(modelOrPath), flags);
}

/** By its name, whatever its case, spaces and hyphens. */
function namedModel(name: string): PlannedModel | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const known = typicalModels.find((model) => plain(model.name) === plain(name));
  if (!known) return undefined;
  const { source, ...model } = known;
  return { ...model, notes: [`source: ${source}`] };
}

function fromFile(file: string): PlannedModel {
  const path = userPath(file);
  if (file !== '' && existsSync(path)) return { ...readConfigFile(path), name: file };
  const names = typicalModels.map(({ name }) => name).join(', ');
  throw new UsageError(`there is no model and no file ${JSON.stringify(file)}; models: ${names}`);
}

function fromFlags({ embedDim, heads, ...flags }: SizeFlags): PlannedModel {
  if (embedDim === undefined || heads === undefined) {
    throw new UsageError(
      'give a model, the path of a config.json, or --embed-dim and --heads; --help shows all',
    );
  }
  const cached = { batch: 1, heads: 1, keySize: 1, valueSize: 1 }; // a decoder's: the flags say which
  const config = { embedDim, numHeads: heads };
  return changed({ name: 'A model', layers: 1, config, cached, notes: [] }, { embedDim, ...flags });
}

/** The model with other sizes. */
function changed(model: PlannedModel, { layers = model.layers, ...flags }: SizeFlags): PlannedModel {
  const names = {
    embedDim: 'embedDim',
    heads: 'numHeads',
    kvHeads: 'numKeyValueHeads',
    headDim: 'headDim',
  } as const;
  const sizes = Object.entries(names).flatMap(([flag, name]) => {
    const size = flags[flag as keyof typeof names];
    return size === undefined ? [] : [[name, size] as const];
  });
  if (sizes.length === 0) return { ...model, layers };
  if (!model.config) {
    throw new UsageError(
      `the heads of ${model.name} come from a latent: of its sizes only --layers can be changed`,
    );
  }
  const config: LayerConfig = { ...model.config, ...Object.fromEntries(sizes) };
  const cached = shapeOf(config);
  return { ...model, layers, config, ...(model.cached && { cached }) };
}

/** @throws UsageError for sizes that cannot be */
function shapeOf(config: LayerConfig): CacheShape {
  try {
    return cacheShape(config);
  } catch (error) {
    if (isAttentionError(error)) throw new UsageError(error.message);
    throw error;
  }
}
