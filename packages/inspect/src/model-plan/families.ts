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
  /** Layers that read keys and values of another have projections for them all the same. */
  readonly projectsSharedKeys?: true;
  /** Blocks of attention whose variables all layers take in turn. */
  readonly blocks?: number;
  /** Heads of values, made of a latent, share the width. */
  readonly valuesShareWidth?: true;
  /** Its layers are of other kinds, heads of theirs included. */
  readonly hasNoAttention?: true;
  /** Which layers have a window where the file does not say: layer i, of a window at all. */
  readonly hasWindow?: (layer: number) => boolean;
}

const always = (biases: Biases) => () => biases;
const where =
  (flag: string, biases: Biases, otherwise: boolean) =>
  (config: ConfigReader): Biases =>
    (config.flag(flag) ?? otherwise) ? biases : '';

/** Sizes of a class, which files of whole models say and files of models within others leave out. */
const sizesOf = (width: number, layers: number, heads: number) => ({
  hidden_size: width,
  num_hidden_layers: layers,
  num_attention_heads: heads,
});

const none: Family = { biases: always('') };
const ofFlag: Family = { biases: where('attention_bias', 'qkvo', false) };
const llama: Family = { ...ofFlag, defaults: sizesOf(4096, 32, 32) };
const grouped = { ...sizesOf(4096, 32, 32), num_key_value_heads: 8 };
const mistral: Family = { ...none, defaults: { ...grouped, window_size: 4096 } };
const biased: Family = { biases: always('qkvo') };
const qwen2: Family = { biases: always('qkv'), windowIsOff: true, defaults: sizesOf(4096, 32, 32) };
const glm: Family = {
  biases: where('attention_bias', 'qkv', false),
  defaults: { num_key_value_heads: 2, head_dim: 128 },
};
const base = sizesOf(768, 12, 12);
const encoder: Family = { role: 'encoder', biases: always('qkvo'), defaults: base };
const vision: Family = {
  role: 'encoder',
  biases: (config) => ((config.flag('qkv_bias') ?? true) ? 'qkvo' : 'o'),
  defaults: base,
};
const t5: Family = { role: 'encoder-decoder', biases: always(''), defaults: { d_kv: 64 } };
const bart: Family = { role: 'encoder-decoder', biases: always('qkvo') };
const everySecond = (layer: number) => layer % 2 === 0;
const allBut = (period: number) => (layer: number) => (layer + 1) % period !== 0;
const gemma2: Family = {
  ...ofFlag,
  defaults: { ...sizesOf(2304, 26, 8), num_key_value_heads: 4, head_dim: 256, window_size: 4096 },
  hasWindow: everySecond,
};
const gemma4: Family = { ...ofFlag, defaults: { head_dim: 256, window_size: 512 }, hasWindow: allBut(5) };
const qwen3Next: Family = { ...ofFlag, hasGate: true, defaults: { head_dim: 256 } };

const each = (names: string, family: Family) =>
  names.split(' ').map((name): [string, Family] => [name, family]);

/** By `model_type`. */
export const families: ReadonlyMap<string, Family> = new Map<string, Family>([
  ...each('mistral ministral', mistral),
  ...each('ministral3 mixtral', { ...none, defaults: grouped }),
  ...each('phi3 phi3_v phi4mm gptj codegen baichuan minicpm dbrx deci mllama_text_model', none),
  ...each('exaone exaone4 minimax minimax_text_01 minimax_m1 minimax_m2 openelm kimi_linear', none),
  ...each('jamba lfm2 lfm2_moe', { ...none, defaults: { num_key_value_heads: 8 } }),
  ...each('minicpm3', { ...none, valuesShareWidth: true }),
  ...each('zamba', { ...none, blocks: 1 }),
  ...each('zamba2', none),
  ...each('llama', llama),
  ...each('cohere olmo olmo2 olmoe flex_olmo granite granitemoe phimoe mimo_v2_flash dots1 bitnet', ofFlag),
  ...each('olmo3', { ...ofFlag, defaults: { window_size: 4096 }, hasWindow: allBut(4) }),
  ...each('granitemoeshared granitemoehybrid nemotron nemotron_h nemotron-nas bamba', ofFlag),
  ...each('falcon_h1 arcee apertus deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm4_moe_lite', ofFlag),
  ...each('hunyuan hunyuan_v1_dense hunyuan_v1_moe aria_text chameleon deepseek orion', ofFlag),
  ...each('helium', { biases: where('attention_bias', 'qkv', false) }),
  ...each('afmoe', { ...none, hasGate: true }),
  ...each('grok-1 xverse exaone_moe cwm musicgen_decoder parler_tts_decoder', none),
  ...each('mamba mamba2 falcon_mamba rwkv', { ...none, hasNoAttention: true }),
  ...each('smollm3', { ...ofFlag, defaults: { num_key_value_heads: 4 } }),
  ...each('llama4 llama4_text', {
    ...ofFlag,
    defaults: { window_size: 8192 },
    hasWindow: allBut(4),
  }),
  ...each('qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text qwen3_omni_moe_text', {
    ...ofFlag,
    defaults: { head_dim: 128 },
    windowIsOff: true,
  }),
  ...each('gemma', {
    ...ofFlag,
    defaults: { ...sizesOf(3072, 28, 16), num_key_value_heads: 16, head_dim: 256 },
  }),
  ...each('gemma2 t5_gemma_module vaultgemma', gemma2),
  ...each('gemma3 gemma3_text', { ...gemma2, hasWindow: allBut(6) }),
  ...each('gemma3n gemma3n_text', { ...gemma4, projectsSharedKeys: true }),
  ...each('gemma4 gemma4_text', gemma4),
  ...each('cohere2', { ...ofFlag, defaults: { window_size: 4096 }, hasWindow: allBut(4) }),
  ...each('gpt_oss', {
    ...ofFlag,
    hasSinks: true,
    defaults: { head_dim: 64, window_size: 128 },
    hasWindow: everySecond,
  }),
  ...each('qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text', qwen3Next),
  ...each('qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_audio', qwen2),
  ...each('qwen2_5_omni_text', qwen2),
  ...each('mimo dots_ocr', { ...qwen2, biases: where('attention_bias', 'qkv', true) }),
  ...each('qwen', { biases: (config) => (config.flag('no_bias') === false ? 'qkvo' : 'qkv') }),
  ...each('qwen2_moe', { biases: where('qkv_bias', 'qkv', true), windowIsOff: true }),
  ...each('glm glm4', glm),
  ...each('glm4_moe glm4v_text glm4v_moe_text', { biases: glm.biases }),
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
      if (ofAll || config.mentions('position_encoding_2d')) return 'qkvo'; // all have one in the first version
      return ofHeads ? 'qkv' : '';
    },
  }),
  ...each('internlm3', {
    biases: (config) => {
      const [heads, output] = [config.flag('qkv_bias'), config.flag('bias')];
      return `${heads ? 'qkv' : ''}${output ? 'o' : ''}`;
    },
  }),
  ...each('stablelm stablelm_epoch', { biases: where('use_qkv_bias', 'qkv', false) }),
  ...each('internlm internlm2 falcon RefinedWeb RefinedWebModel', { biases: where('bias', 'qkvo', false) }),
  ...each('starcoder2', { biases: where('use_bias', 'qkvo', true) }),
  ...each('bailing_moe bailing_moe_v2', {
    biases: (config) => {
      const [heads, output] = [config.flag('use_qkv_bias'), config.flag('use_bias')];
      return `${heads ? 'qkv' : ''}${output ? 'o' : ''}`;
    },
  }),
  ...each('ernie4_5 ernie4_5_moe ernie4_5_moe_vl ernie4_5_vl_moe ernie4_5_vl_moe_text', {
    biases: where('use_bias', 'qkvo', false),
  }),
  ...each('gpt_neox', { biases: where('attention_bias', 'qkvo', true) }),
  ...each('opt', { biases: where('enable_bias', 'qkvo', true), defaults: base }),
  ...each('mpt', { biases: (config) => ((config.flag('no_bias') ?? true) ? '' : 'qkvo') }),
  ...each('gpt2', { ...biased, defaults: base }),
  ...each('gpt_bigcode bloom phi xglm biogpt persimmon fuyu openai-gpt ctrl trocr jais git', biased),
  ...each('phi-msft mixformer-sequential', biased),
  ...each('molmo', { biases: where('qkv_bias', 'qkv', false) }),
  ...each('gpt_neo', { biases: always('o'), defaults: { window_size: 256 } }),
  ...each('recurrent_gemma', {
    biases: (config) => ((config.flag('attention_bias') ?? false) ? 'qkvo' : 'o'),
    defaults: { num_key_value_heads: 1 },
  }),
  ...each('albert bert camembert deberta-v2 distilbert electra ernie roberta xlm-roberta', encoder),
  ...each('xlm-roberta-xl roformer mpnet layoutlm megatron-bert nezha esm mobilebert data2vec-text', encoder),
  ...each('roberta-prelayernorm ibert tapas layoutlmv3 siglip2_text_model siglip2_vision_model', encoder),
  ...each('rembert new', encoder),
  ...each('beit data2vec-vision', { ...encoder, biases: always('qvo') }),
  ...each('videomae', { ...encoder, biases: (config) => ((config.flag('qkv_bias') ?? true) ? 'qvo' : 'o') }),
  ...each('clip_vision_model siglip_text_model siglip_vision_model wav2vec2 hubert', encoder),
  ...each('clip_text_model', { ...encoder, defaults: sizesOf(512, 12, 8) }),
  ...each('deberta', { ...encoder, biases: always('qvo') }),
  ...each('modernbert eurobert', { role: 'encoder', biases: where('attention_bias', 'qkvo', false) }),
  ...each('nomic_bert', { role: 'encoder', biases: where('qkv_proj_bias', 'qkvo', false) }),
  ...each('vit deit dinov2 dinov2_with_registers vit_mae vit_msn ijepa yolos vivit', vision),
  ...each('audio-spectrogram-transformer', vision),
  ...each('t5 mt5 umt5 longt5 switch_transformers', t5),
  ...each('bart mbart marian pegasus blenderbot blenderbot-small m2m_100 plbart mvp fsmt', bart),
  ...each('speech_to_text nllb-moe', bart),
  ...each('whisper', { role: 'encoder-decoder', biases: always('qvo') }),
  ...each('moonshine', { role: 'encoder-decoder', biases: where('attention_bias', 'qkv', false) }),
]);
