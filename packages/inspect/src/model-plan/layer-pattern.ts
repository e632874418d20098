// Which layers of a model attend, which of them see a window only, and which attend to another sequence. Configs say it by
// lists of kinds, lists of numbers, periods with offsets, or letters.
import { asWord, type ConfigReader } from './config-reader';
import type { Family } from './families';

/** One layer that attends. */
export interface LayerKind {
  /** Its number among all layers, from 0. */
  readonly layer: number;
  /** Tokens that it sees. Absent: all. */
  readonly window?: number;
  /** Its keys are another sequence's: an image's, or a source's. */
  readonly isCross?: true;
  /** What it has of its own, and what is another layer's. Absent: all is its own. */
  readonly shares?: Shared;
}

/** Of another layer: keys and values as they are, those and the projections that made them, or all variables. */
export type Shared = 'keys and values' | 'projections too' | 'all variables';

/** What a config says of its layers. */
export interface LayerPattern {
  readonly layers: readonly LayerKind[];
  /** What was not understood. */
  readonly unsure: readonly string[];
}

const full = /^(full|full_attention|global|global_attention|softmax_attention)$/;
/** Attention of whatever kind the model has. */
const plain = /^(attention|hybrid)$/;
const windowed = /^(sliding_attention|sliding_window|local_attention|local|swa|chunked_attention)$/;
const without =
  /^(conv|mamba2?|linear_attention|recurrent|rwkv|ssm|moe|mlp|ffn|gated_delta_?net|kda|lightning_attention|linear|identity|no_op|skip)$/;

/** @param count all layers, those without attention too */
export function layerPattern(config: ConfigReader, count: number, family: Family | undefined): LayerPattern {
  const all = Array.from({ length: count }, (_, layer) => layer);
  const window = windowOf(config, family);
  // Both may be there, and say the same.
  const kinds = kindsOf(config, count);
  const listed = attendingLayers(config, all);
  const rule = windowRule(config, family);
  const cross = config.numbers('cross_attention_layers') ?? [];
  const beyond = [...(listed ?? []), ...cross].filter((layer) => layer >= count);
  const unsureOf = beyond.map((layer) => `layer ${layer} of ${count}`);
  const sharing = sharedBy(config, family);
  const asKind = (layer: number, hasWindow: boolean): LayerKind => ({
    layer,
    ...(hasWindow && window !== undefined && { window }),
    ...(cross.includes(layer) && { isCross: true as const }),
  });
  if (kinds) {
    const known = [full, plain, windowed, without];
    const unknown = kinds.filter((kind) => !known.some((pattern) => pattern.test(kind)));
    const unsure = [...unsureOf, ...[...new Set(unknown)].map((kind) => `a layer of kind "${kind}"`)];
    if (kinds.length !== count) unsure.push(`${kinds.length} kinds for ${count} layers`);
    const attending = all.filter((layer) => kinds[layer] !== undefined && !without.test(kinds[layer]!));
    const hasWindow = (kind: string, layer: number) =>
      windowed.test(kind) || (plain.test(kind) && rule(layer));
    return {
      layers: sharing(attending.map((layer) => asKind(layer, hasWindow(kinds[layer]!, layer)))),
      unsure,
    };
  }
  const attending = (listed ?? all).filter((layer) => layer < count);
  return { layers: sharing(attending.map((layer) => asKind(layer, rule(layer)))), unsure: unsureOf };
}

/**
 * Layers that read keys and values of another: the last ones (Gemma 3n), or all but the first of each group (Brandon et al.
 * 2024, 2405.12981). Layers that have the variables of another: all behind the first of each group (ALBERT, Lan et al. 2019,
 * 1909.11942), or behind as many blocks as there are (Zamba, Glorioso et al. 2024, 2405.16712).
 */
function sharedBy(config: ConfigReader, family: Family | undefined) {
  const last = config.sizeUnlessNone('num_kv_shared_layers') ?? 0;
  const ofGroup = config.sizeUnlessNone('cla_share_factor') ?? 1;
  const group = config.flag('use_cla') === true ? ofGroup : 1;
  const blocks = config.sizeUnlessNone('num_hidden_groups', 'num_mem_blocks') ?? family?.blocks;
  const ofLast: Shared = family?.projectsSharedKeys ? 'keys and values' : 'projections too';
  return (layers: readonly LayerKind[]): readonly LayerKind[] =>
    layers.map((layer, n) => {
      if (blocks !== undefined && n >= blocks) return { ...layer, shares: 'all variables' };
      if (n % group !== 0) return { ...layer, shares: 'projections too' };
      const first = layers.length - last;
      return n >= first && first > 0 ? { ...layer, shares: ofLast } : layer;
    });
}

/** A kind for each layer, by name. */
function kindsOf(config: ConfigReader, count: number): readonly string[] | undefined {
  const list = config.words('layer_types', 'layers_block_type');
  if (list) return list;
  const repeated = config.words('block_types', '_block_types');
  if (repeated?.length) return Array.from({ length: count }, (_, n) => repeated[n % repeated.length]!);
  const letters = config.text('hybrid_override_pattern');
  if (letters) {
    const names: { readonly [letter: string]: string } = {
      M: 'mamba',
      '*': 'attention',
      '-': 'mlp',
      E: 'moe',
    };
    return [...letters].map((letter) => names[letter] ?? letter);
  }
  const numbered = config.numbers('attn_type_list');
  if (numbered) return numbered.map((n) => (n === 0 ? 'linear' : 'attention'));
  const windows = config.numbers('hybrid_layer_pattern');
  if (windows) return windows.map((n) => (n === 0 ? 'full_attention' : 'sliding_attention'));
  return gptNeoKinds(config, count) ?? blockKinds(config);
}

/** `[[["global", "local"], 12]]`: a pattern, and how often. */
function gptNeoKinds(config: ConfigReader, count: number): readonly string[] | undefined {
  const list = config.words('attention_layers'); // the same, written out
  const kinds = config
    .list('attention_types')
    ?.filter((entry): entry is [unknown[], number] => Array.isArray(entry) && Array.isArray(entry[0]))
    .flatMap(([pattern, times]) => {
      const length = Math.min(pattern.length * times, count + 1); // more layers than there are is wrong, however many
      return Array.from({ length }, (_, n) => asWord(pattern[n % pattern.length]));
    });
  return kinds ?? list;
}

/** A search of architectures leaves some blocks without attention. */
function blockKinds(config: ConfigReader): readonly string[] | undefined {
  return config
    .blockAttentions()
    ?.map((block) => (block.value('no_op') || block.value('replace_with_linear') ? 'no_op' : 'attention'));
}

/** The numbers of the layers that attend, where not all do. */
function attendingLayers(config: ConfigReader, all: readonly number[]): readonly number[] | undefined {
  const numbers = config.numbers(
    'full_attn_idxs',
    'attn_layer_indices',
    'full_attention_layers',
    'hybrid_layer_ids',
  );
  if (numbers) return numbers;
  const linear = config.within('linear_attn_config');
  const counted = linear?.numbers('full_attn_layers'); // from 1
  if (linear && !counted) config.notUnderstood(['linear_attn_config']);
  if (counted) return counted.map((n) => n - 1).filter((layer) => layer >= 0);
  const period = config.sizeUnlessNone('attn_layer_period');
  if (period) {
    const offset = config.layerNumber('attn_layer_offset') ?? 0;
    return all.filter((layer) => layer % period === offset);
  }
  const interval = config.sizeUnlessNone('full_attention_interval');
  return interval ? all.filter((layer) => (layer + 1) % interval === 0) : undefined;
}

/** Tokens of a window, of the layers that have one. */
function windowOf(config: ConfigReader, family: Family | undefined): number | undefined {
  const isUsed = config.flag('use_sliding_window');
  const names = [
    ...['sliding_window', 'sliding_window_size', 'attention_window_size', 'window_size'],
    ...['local_attention', 'attention_chunk_size'],
  ];
  const ofFamily = config.mentions(...names) ? undefined : family?.defaults?.window_size;
  const window = config.windowTokens(...names) ?? (ofFamily as number | undefined);
  return (isUsed ?? !family?.windowIsOff) ? window : undefined;
}

/** Which layers have the window. */
function windowRule(config: ConfigReader, family: Family | undefined): (layer: number) => boolean {
  const periods = ['sliding_window_pattern', '_sliding_window_pattern'] as const;
  const pattern = config.value(...periods);
  const isText = typeof pattern === 'string';
  if (isText && /^[LG]+$/.test(pattern)) return (layer) => pattern[layer % pattern.length] === 'L';
  const period = isText ? config.notUnderstood(periods) : config.sizeUnlessNone(...periods);
  if (period) return (layer) => (layer + 1) % period !== 0;
  const global = config.sizeUnlessNone('global_attn_every_n_layers');
  if (global) return (layer) => layer % global !== 0;
  const first = config.layerNumber('max_window_layers');
  if (config.flag('use_sliding_window') && first !== undefined) return (layer) => layer >= first;
  const withoutRotary = config.numbers('no_rope_layers'); // 0: positions are left out, and all is seen
  if (withoutRotary?.length) return (layer) => withoutRotary[layer] !== 0;
  const interval = config.sizeUnlessNone('no_rope_layer_interval');
  if (interval) return (layer) => (layer + 1) % interval !== 0;
  return family?.hasWindow ?? (() => true);
}
