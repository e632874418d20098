// One attention of one layer: its heads, what it learns, what a cache keeps of it.
import { ConfigError } from '@polyhead/core';
import type { ConfigReader } from './config-reader';
import type { LayerKind } from './layer-pattern';
import { at, required, type StackSizes } from './stack-sizes';

/** One attention of one layer. */
export interface PlannedAttention {
  /** Where it is. */
  readonly part: 'encoder' | 'decoder';
  /** Its keys are another sequence's. */
  readonly cross: boolean;
  /** Width of queries and output. */
  readonly embedDim: number;
  /** Query heads. */
  readonly numHeads: number;
  /** Key/value heads, which query heads share. */
  readonly numKeyValueHeads: number;
  /** Numbers of a query and key head. */
  readonly headDim: number;
  /** Numbers of a value head. */
  readonly valueHeadDim: number;
  /** Numbers that a cache keeps of a token; 0 in an encoder, and where another layer's are read. */
  readonly cachedNumbers: number;
  /** Tokens that it sees, and a bounded cache keeps. Absent: all. */
  readonly window?: number;
  /** Numbers learned: matrices, biases, sinks; without norms, and without tables and projections of positions. 0 where another layer's are used. */
  readonly parameters: number;
  /** Those of them that stand in matrices of projections. */
  readonly matrices: number;
  /** Heads are made of one latent vector a token (DeepSeek-AI 2024, 2405.04434), which is what a cache keeps. */
  readonly isLatent?: true;
}

/** The attention of a layer of a stack. */
export function attentionOf(
  stack: StackSizes,
  kind: LayerKind,
  side: 'encoder' | 'decoder',
): PlannedAttention {
  const { reader, embedDim, family, biases, hasGate } = stack;
  const latent = latentSize(reader);
  const cross = kind.isCross === true;
  const common = {
    part: side,
    cross,
    embedDim,
    ...(kind.window !== undefined && { window: kind.window }),
  };
  if (latent !== undefined)
    return { ...common, ...latentAttention(stack, latent, { side, layer: kind.layer }) };
  const sizes = headSizes(stack, kind);
  const { numHeads: H, numKeyValueHeads: Hkv, headDim: D, valueHeadDim: Dv } = sizes;
  const input = reader.sizeUnlessNone('attention_hidden_size') ?? embedDim;
  const gate = hasGate ? input * H * D : 0;
  const sharesValues = reader.flag('attention_k_eq_v') === true && kind.window === undefined;
  const [keySize, valueSize] = kind.shares === 'projections too' ? [0, 0] : [D, sharesValues ? 0 : Dv];
  const matrices = input * H * D + gate + input * Hkv * (keySize + valueSize) + H * Dv * embedDim;
  const bias =
    (biases.includes('q') ? H * D : 0) +
    (biases.includes('k') ? Hkv * keySize : 0) +
    (biases.includes('v') ? Hkv * valueSize : 0) +
    (biases.includes('o') ? embedDim : 0);
  const sinkFlag = kind.window === undefined ? 'add_full_attention_sink_bias' : 'add_swa_attention_sink_bias';
  const sinks = family?.hasSinks || reader.flag(sinkFlag) ? H : 0;
  const readsAnother = kind.shares !== undefined && kind.shares !== 'all variables';
  const adapters = adapterParameters(stack, input, H * D);
  return {
    ...common,
    ...sizes,
    cachedNumbers: side === 'encoder' || readsAnother ? 0 : Hkv * (D + Dv),
    parameters: adapters + (kind.shares === 'all variables' ? 0 : matrices + bias + sinks),
    matrices: matrices + adapters,
  };
}

function latentSize(reader: ConfigReader): number | undefined {
  const size = reader.sizeUnlessNone('kv_lora_rank');
  if (reader.flag('use_mla') !== false) return size;
  reader.value('q_lora_rank', 'qk_nope_head_dim', 'qk_rope_head_dim'); // of a latent that is not used
  return undefined;
}

/** Layers with one block's variables may each add products of low rank to its queries, keys and values. */
function adapterParameters({ reader }: StackSizes, input: number, output: number): number {
  const rank = reader.sizeUnlessNone('adapter_rank') ?? 0;
  return reader.flag('use_shared_attention_adapter') === true ? 3 * rank * (input + output) : 0;
}

/** Layers of a window, and those that see all, may have heads of their own. */
function headSizes({ reader, heads, keyValueHeads, headDim, embedDim }: StackSizes, kind: LayerKind) {
  const isWindow = kind.window !== undefined;
  const own = (...keys: readonly string[]) => reader.size(...keys);
  const numHeads =
    (isWindow
      ? own('swa_num_attention_heads')
      : own('global_num_attention_heads', 'num_global_attention_heads')) ?? at(heads, kind.layer);
  const numKeyValueHeads =
    (isWindow
      ? own('swa_num_key_value_heads')
      : own('num_global_key_value_heads', 'global_num_key_value_heads')) ??
    (keyValueHeads === undefined ? numHeads : at(keyValueHeads, kind.layer));
  const D = (isWindow ? own('swa_head_dim') : own('global_head_dim')) ?? headDim ?? embedDim / numHeads;
  const Dv = (isWindow ? own('swa_v_head_dim') : undefined) ?? own('v_head_dim') ?? D;
  if (Number.isInteger(D) && numHeads % numKeyValueHeads === 0)
    return { numHeads, numKeyValueHeads, headDim: D, valueHeadDim: Dv };
  const facts = { embedDim, numHeads, numKeyValueHeads, headDim: D, layer: kind.layer };
  throw new ConfigError('planModel', 'heads must divide the width, and key/value heads the heads', facts);
}

/** Of a family whose class has none of its own, heads of values share the width. */
function valueHeadDim({ family, embedDim, notes }: StackSizes, heads: number): number | undefined {
  if (!family?.valuesShareWidth) return undefined;
  notes.push(`v_head_dim is not in the file: the family shares the width among its ${heads} heads`);
  return embedDim / heads;
}

/**
 * Multi-head latent attention: keys and values of all heads come from one vector of `kv_lora_rank` numbers, beside which
 * lie `qk_rope_head_dim` numbers that are turned by position (DeepSeek-AI 2024, 2405.04434, section 2.1).
 */
function latentAttention(
  stack: StackSizes,
  latent: number,
  { side, layer }: { readonly side: 'encoder' | 'decoder'; readonly layer: number },
) {
  const { reader, embedDim: E, heads, biases } = stack;
  const H = at(heads, layer);
  const [turned, plain, Dv] = [
    reader.size('qk_rope_head_dim') ?? 0,
    required(stack, ['qk_nope_head_dim', 'qk_head_dim', 'head_dim'], (keys) => reader.size(...keys)),
    required(stack, ['v_head_dim', 'head_dim'], (keys) => reader.size(...keys) ?? valueHeadDim(stack, H)),
  ];
  const ofQueries = reader.sizeUnlessNone('q_lora_rank');
  const D = plain + turned;
  const query = ofQueries === undefined ? E * H * D : E * ofQueries + ofQueries * H * D;
  const down = E * (latent + turned);
  const up = latent * H * (plain + Dv);
  const matrices = query + down + up + H * Dv * E;
  const bias = biases === '' ? 0 : (ofQueries ?? 0) + latent + turned + E;
  return {
    numHeads: H,
    numKeyValueHeads: H,
    headDim: D,
    valueHeadDim: Dv,
    cachedNumbers: side === 'encoder' ? 0 : latent + turned,
    parameters: matrices + bias,
    matrices,
    isLatent: true as const,
  };
}
