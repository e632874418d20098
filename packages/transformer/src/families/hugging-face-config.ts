// A `config.json` of Hugging Face, read key by key: what no family reads and bears on the model is refused by name.
import { ConfigError } from '@polyhead/core';
import type { Activation } from '../layers/activation';
import type { Json } from './model-description';

/** Keys that say nothing of the numbers of a model: its history, how it generates, how it was trained. */
const neutralKeys = `architectures auto_map bad_words_ids begin_suppress_tokens bos_token_id cache_implementation chunk_size_feed_forward
  classif_dropout classifier_dropout cross_attention_hidden_size directionality diversity_penalty do_sample
  dtype early_stopping encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task
  force_bos_token_to_be_generated forced_bos_token_id forced_eos_token_id gradient_checkpointing id2label init_std
  initializer_factor initializer_range is_llama_config keys_to_ignore_at_inference label2id language length_penalty
  mask_token_id max_length min_length model_type name_or_path no_repeat_ngram_size num_beam_groups num_beams num_labels
  num_return_sequences output_attentions output_hidden_states output_past output_scores pad_token_id padding_idx
  prefix problem_type pruned_heads remove_invalid_values repetition_penalty return_dict return_dict_in_generate
  save_step sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss tokenizer_class top_k top_p
  torch_dtype torchscript transformers.js_config transformers_version typical_p use_bfloat16 use_cache vocab_file`;

const activationNames: Readonly<Record<string, Activation>> = {
  relu: 'relu',
  gelu: 'gelu',
  gelu_python: 'gelu',
  gelu_new: 'geluTanh',
  gelu_fast: 'geluTanh',
  gelu_pytorch_tanh: 'geluTanh',
  silu: 'silu',
  swish: 'silu',
};

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** The keys of a config, each asked for by name; null is absent. */
export class HuggingFaceConfig {
  private readonly known = new Set<string>();

  /** @param where the function that reads, for errors */
  constructor(
    private readonly where: string,
    private readonly json: Json,
  ) {
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw new ConfigError(where, 'the config must be an object, as JSON.parse gives of a config.json', {
        json,
      });
  }

  /** Whatever a key holds; undefined where it is absent. */
  raw(key: string): unknown {
    this.known.add(key);
    return this.json[key] ?? undefined;
  }

  /** A number. Without a default the key must be there. */
  number(key: string, byDefault?: number): number {
    return this.typed(key, byDefault, (value): value is number => Number.isFinite(value), 'a number');
  }

  /** A number, or undefined where the key is absent. */
  optionalNumber(key: string): number | undefined {
    return this.raw(key) === undefined ? undefined : this.number(key);
  }

  /** True or false. */
  flag(key: string, byDefault: boolean): boolean {
    return this.typed(
      key,
      byDefault,
      (value): value is boolean => typeof value === 'boolean',
      'true or false',
    );
  }

  /** A text. */
  text(key: string, byDefault?: string): string {
    return this.typed(key, byDefault, (value): value is string => typeof value === 'string', 'a text');
  }

  /** A list of so many entries, or undefined where the key is absent. */
  list(key: string, length: number): readonly unknown[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length === length) return value;
    throw new ConfigError(this.where, `${key} must be a list with an entry for each layer`, {
      [key]: value,
      length,
    });
  }

  /** The activation that a key names. */
  activation(key: string, byDefault?: string): Activation {
    return this.activationNamed(key, this.text(key, byDefault));
  }

  /** The activation of a name that came from a key. */
  activationNamed(key: string, name: string): Activation {
    const activation = Object.hasOwn(activationNames, name) ? activationNames[name] : undefined;
    if (activation) return activation;
    throw new ConfigError(this.where, `${key} must be one of ${Object.keys(activationNames).join(', ')}`, {
      [key]: name,
    });
  }

  /** @throws ConfigError unless the key is absent, or has one of these values: others are not supported */
  only(key: string, ...values: readonly unknown[]): void {
    const value = this.raw(key);
    if (value === undefined || values.includes(value)) return;
    throw new ConfigError(
      this.where,
      `${key} must be ${values.map(String).join(' or ')}: others are not supported`,
      {
        [key]: value,
      },
    );
  }

  /** Keys that say nothing in this family. */
  ignore(...keys: readonly string[]): void {
    for (const key of keys) this.known.add(key);
  }

  /** @throws ConfigError for keys that nobody asked for and that may bear on the model */
  finish(): void {
    const neutral = new Set(neutralKeys.split(/\s+/));
    const unknown = Object.entries(this.json)
      .filter(
        ([key, value]) =>
          !this.known.has(key) && !neutral.has(key) && !key.startsWith('_') && !isEmpty(value),
      )
      .map(([key]) => key);
    if (unknown.length === 0) return;
    throw new ConfigError(this.where, 'the config must hold known options only: none is ignored', {
      unknown,
    });
  }

  private typed<T>(
    key: string,
    byDefault: T | undefined,
    holds: (value: unknown) => value is T,
    rule: string,
  ): T {
    const value = this.raw(key) ?? byDefault;
    if (holds(value)) return value;
    throw new ConfigError(this.where, `${key} must be ${rule}`, { [key]: value });
  }
}
