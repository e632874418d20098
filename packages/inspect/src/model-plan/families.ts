// What the code of a family of models implies and its config.json does not say: which projections have biases, what is an
// encoder, which sizes a class takes where the file has none. From the families' published code (Hugging Face transformers,
// Wolf et al. 2020, 1910.03771).
import type { ConfigReader } from './config-reader';

/** Projections with a bias, by their first letters: query, key, value, output. */
export type Biases = 'qkvo' | 'qkv' | 'qvo' | 'o' | '';

/** Whether layers of a model read a text from left to right, see all of it, or both. */
export type Role = 'decoder' | 'encoder' | 'encoder-decoder';

/** What is known of a family. */
export interface Family {
  /** Default: decoder. */
  readonly role?: Role;
  readonly biases: (config: ConfigReader) => Biases;
  /** The output is gated by a projection as wide as the heads, beside that of the queries. */
  readonly hasGate?: true;
  /** Each head has a learned sink. */
  readonly hasSinks?: true;
  /** Sizes of the family's class, by the names of a config. */
  readonly defaults?: { readonly [name: string]: number | boolean };
  /** A window counts only where `use_sliding_window` says so. */
  readonly windowIsOff?: true;
  /** Which layers have a window where the file does not say: layer i, of a window at all. */
  readonly hasWindow?: (layer: number) => boolean;
}

const always = (biases: Biases) => () => biases;
const where =
  (flag: string, biases: Biases, otherwise: boolean) =>
  (config: ConfigReader): Biases =>
    (config.flag(flag) ?? otherwise) ? biases : '';

const none: Family = { biases: always('') };
const ofFlag: Family = { biases: where('attention_bias', 'qkvo', false) };
const biased: Family = { biases: always('qkvo') };
const qwen2: Family = { biases: always('qkv'), windowIsOff: true };
const glm: Family = { biases: where('attention_bias', 'qkv', false) };
const encoder: Family = { role: 'encoder', biases: always('qkvo') };
const vision: Family = {
  role: 'encoder',
  biases: (config) => ((config.flag('qkv_bias') ?? true) ? 'qkvo' : 'o'),
};
const t5: Family = { role: 'encoder-decoder', biases: always(''), defaults: { d_kv: 64 } };
const bart: Family = { role: 'encoder-decoder', biases: always('qkvo') };
const gemma2 = (layer: number) => layer % 2 === 0;
const everySixth = (layer: number) => (layer + 1) % 6 !== 0;
const gemma3: Family = {
  ...ofFlag,
  defaults: { num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256 },
  hasWindow: everySixth,
};
const qwen3Next: Family = { ...ofFlag, hasGate: true, defaults: { head_dim: 256 } };

const each = (names: string, family: Family) =>
  names.split(' ').map((name): [string, Family] => [name, family]);

/** By `model_type`. */
export const families: ReadonlyMap<string, Family> = new Map<string, Family>([
  ...each('mistral ministral mixtral phi3 gptj codegen baichuan minicpm minicpm3 dbrx deci', none),
  ...each('jamba lfm2 lfm2_moe exaone exaone4 minimax openelm kimi_linear', none),
  ...each('llama cohere olmo olmo2 olmo3 olmoe granite granitemoe', ofFlag),
  ...each('granitemoeshared granitemoehybrid nemotron nemotron_h nemotron-nas smollm3 helium bamba', ofFlag),
  ...each('falcon_h1 arcee apertus deepseek_v2 deepseek_v3 kimi_k2 hunyuan hunyuan_v1_dense', ofFlag),
  ...each('llama4 llama4_text', { ...ofFlag, hasWindow: (layer) => (layer + 1) % 4 !== 0 }),
  ...each('qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text', {
    ...ofFlag,
    defaults: { head_dim: 128 },
    windowIsOff: true,
  }),
  ...each('gemma', { ...ofFlag, defaults: { head_dim: 256 } }),
  ...each('gemma2', { ...ofFlag, defaults: { head_dim: 256 }, hasWindow: gemma2 }),
  ...each('gemma3 gemma3_text', gemma3),
  ...each('gemma3n gemma3n_text gemma4 gemma4_text', {
    ...ofFlag,
    defaults: { head_dim: 256 },
    hasWindow: (layer) => (layer + 1) % 5 !== 0,
  }),
  ...each('cohere2', { ...ofFlag, hasWindow: (layer) => (layer + 1) % 4 !== 0 }),
  ...each('gpt_oss', { ...ofFlag, hasSinks: true, defaults: { head_dim: 64 }, hasWindow: gemma2 }),
  ...each('qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text', qwen3Next),
  ...each('qwen qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_audio', qwen2),
  ...each('qwen2_moe', { biases: where('qkv_bias', 'qkv', true), windowIsOff: true }),
  ...each('glm glm4 glm4_moe glm4v_text', glm),
  ...each('seed_oss', {
    biases: (config) => {
      const [heads, output] = [config.flag('attention_bias') ?? true, config.flag('attention_out_bias')];
      if (!heads) return '';
      return output ? 'qkvo' : 'qkv';
    },
  }),
  ...each('chatglm', {
    biases: (config) => {
      const [ofAll, ofHeads] = [config.flag('add_bias_linear'), config.flag('add_qkv_bias')];
      if (ofAll) return 'qkvo';
      return ofHeads ? 'qkv' : '';
    },
  }),
  ...each('stablelm', { biases: where('use_qkv_bias', 'qkv', false) }),
  ...each('internlm internlm2 falcon', { biases: where('bias', 'qkvo', false) }),
  ...each('starcoder2', { biases: where('use_bias', 'qkvo', true) }),
  ...each('ernie4_5 ernie4_5_moe', { biases: where('use_bias', 'qkvo', false) }),
  ...each('gpt_neox', { biases: where('attention_bias', 'qkvo', true) }),
  ...each('opt', { biases: where('enable_bias', 'qkvo', true) }),
  ...each('mpt', { biases: (config) => ((config.flag('no_bias') ?? true) ? '' : 'qkvo') }),
  ...each('gpt2 gpt_bigcode bloom phi xglm biogpt persimmon openai-gpt ctrl', biased),
  ...each('gpt_neo', { biases: always('o'), defaults: { window_size: 256 } }),
  ...each('recurrent_gemma', {
    biases: (config) => ((config.flag('attention_bias') ?? false) ? 'qkvo' : 'o'),
    defaults: { num_key_value_heads: 1 },
  }),
  ...each('albert bert camembert deberta-v2 distilbert electra ernie roberta xlm-roberta', encoder),
  ...each('xlm-roberta-xl roformer mpnet layoutlm megatron-bert nezha esm mobilebert data2vec-text', encoder),
  ...each('clip_text_model clip_vision_model siglip_text_model siglip_vision_model wav2vec2 hubert', encoder),
  ...each('deberta', { role: 'encoder', biases: always('qvo') }),
  ...each('modernbert', { role: 'encoder', biases: where('attention_bias', 'qkvo', false) }),
  ...each('nomic_bert', { role: 'encoder', biases: where('qkv_proj_bias', 'qkvo', false) }),
  ...each('vit deit dinov2 vit_mae vit_msn ijepa', vision),
  ...each('t5 mt5 umt5 longt5 switch_transformers', t5),
  ...each('bart mbart marian pegasus blenderbot blenderbot-small m2m_100 plbart mvp fsmt', bart),
  ...each('whisper', { role: 'encoder-decoder', biases: always('qvo') }),
]);
