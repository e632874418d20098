// The model that a plan is made for: known by its name, its config.json or from flags.
import { existsSync } from 'node:fs';
import { isAttentionError } from '@polyhead/core';
import { type LayerConfig, type PlannedAttention, planModel, typicalModels } from '@polyhead/inspect';
import { UsageError } from '../command-line/errors';
import { printable, readJsonObject } from '../command-line/json-object';
import { userPath } from '../command-line/user-path';
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
  const { source, config, layers, cached } = known;
  const plan = config
    ? planned(known.name, jsonOf(config, { layers, isEncoder: !cached }))
    : planned(known.name, latentModels[known.name]!);
  return { ...plan, notes: [...plan.notes, `source: ${source}`] };
}

/** Heads that come from a latent, which no config of a layer describes (DeepSeek-AI 2024, 2405.04434, appendix B). */
const latentModels: { readonly [name: string]: object } = {
  'DeepSeek-V2': {
    ...{ model_type: 'deepseek_v2', hidden_size: 5120, num_hidden_layers: 60, num_attention_heads: 128 },
    ...{ kv_lora_rank: 512, q_lora_rank: 1536, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 },
  },
};

/** The config.json of layers that are all alike. */
function jsonOf(config: LayerConfig, { layers, isEncoder }: { layers: number; isEncoder: boolean }): object {
  return {
    model_type: isEncoder ? 'modernbert' : 'llama',
    hidden_size: config.embedDim,
    num_attention_heads: config.numHeads,
    num_key_value_heads: config.numKeyValueHeads ?? config.numHeads,
    num_hidden_layers: layers,
    attention_bias: config.useBias === true,
    ...(config.headDim && { head_dim: config.headDim }),
  };
}

/** @throws UsageError for what is no config, or has sizes that cannot be */
function planned(name: string, json: object): PlannedModel {
  try {
    const { attentionLayers: _, parameters: __, ...plan } = planModel(json);
    return { name, ...plan };
  } catch (error) {
    if (isAttentionError(error)) throw new UsageError(`${name}: ${oneLine(error.message)}`);
    throw error;
  }
}

/** Bytes of so many times as many layers. */
function scaled(cache: NonNullable<PlannedModel['cache']>, times: number): PlannedModel['cache'] {
  const { float32, float16, int8, int4 } = cache.bytesPerToken;
  const bytesPerToken = {
    float32: float32 * times,
    float16: float16 * times,
    int8: int8 * times,
    int4: int4 * times,
  };
  return { ...cache, bytesPerToken };
}

/** Without the function that found it; the facts of an error stand on lines of their own. */
function oneLine(message: string): string {
  const parts = message.replace(/^\w+: /, '').split('\n');
  return printable(parts.map((part) => part.trim().replace(/\s+/g, ' ')).join(', '));
}

function fromFile(file: string): PlannedModel {
  const path = userPath(file);
  if (file !== '' && existsSync(path)) return planned(file, readJsonObject(path));
  const names = typicalModels.map(({ name }) => name).join(', ');
  throw new UsageError(`there is no model and no file ${JSON.stringify(file)}; models: ${names}`);
}

function fromFlags({ embedDim, heads, ...flags }: SizeFlags): PlannedModel {
  if (embedDim === undefined || heads === undefined) {
    throw new UsageError(
      'give a model, the path of a config.json, or --embed-dim and --heads; --help shows all',
    );
  }
  const { kvHeads, headDim, layers = 1 } = flags;
  const config = {
    embedDim,
    numHeads: heads,
    ...(kvHeads && { numKeyValueHeads: kvHeads }),
    ...(headDim && { headDim }),
  };
  return planned('A model', jsonOf(config, { layers, isEncoder: false }));
}

/** The model with other sizes: of layers that are all alike. */
function changed(
  model: PlannedModel,
  { layers, embedDim, heads, kvHeads, headDim }: SizeFlags,
): PlannedModel {
  const changesHeads = [embedDim, heads, kvHeads, headDim].some((size) => size !== undefined);
  if (layers === undefined && !changesHeads) return model;
  const [first] = model.layers as readonly [PlannedAttention];
  const isUniform = model.layers.every((layer) => JSON.stringify(layer) === JSON.stringify(first));
  if (!isUniform)
    throw new UsageError(`the layers of ${model.name} differ: their sizes cannot be changed by flags`);
  const count = layers ?? model.layers.length;
  if (!changesHeads) {
    const cache = model.cache && scaled(model.cache, count / model.layers.length);
    return { ...model, layers: Array.from({ length: count }, () => first), cache };
  }
  if (first.isLatent) {
    throw new UsageError(
      `the heads of ${model.name} come from a latent: of its sizes only --layers can be changed`,
    );
  }
  const hasOwnSize = first.headDim !== first.embedDim / first.numHeads;
  const ownHeadDim = headDim ?? (hasOwnSize ? first.headDim : undefined);
  const isGrouped = first.numKeyValueHeads !== first.numHeads;
  const config: LayerConfig = {
    embedDim: embedDim ?? first.embedDim,
    numHeads: heads ?? first.numHeads,
    useBias: first.parameters !== first.matrices,
    ...(ownHeadDim !== undefined && { headDim: ownHeadDim }),
    numKeyValueHeads: kvHeads ?? (isGrouped ? first.numKeyValueHeads : (heads ?? first.numHeads)),
  };
  const plan = planned(model.name, jsonOf(config, { layers: count, isEncoder: model.cache === null }));
  return { ...plan, ...(model.context && { context: model.context }), notes: model.notes };
}
