// From a `config.json` of Hugging Face to a model of ours.
import { ConfigError } from '@polyhead/core';
import { bart } from './bart';
import { bert } from './bert';
import { deberta } from './deberta';
import { gptNeox } from './gpt-neox';
import { gpt2 } from './gpt2';
import { HuggingFaceConfig } from './hugging-face-config';
import { llama } from './llama';
import type { ModelDescription } from './model-description';
import { t5 } from './t5';

const where = 'configFromHuggingFace';

/** The families by `model_type`. */
const families: Readonly<Record<string, (config: HuggingFaceConfig) => ModelDescription>> = {
  llama: (config) => llama('llama', config),
  mistral: (config) => llama('mistral', config),
  qwen2: (config) => llama('qwen2', config),
  qwen3: (config) => llama('qwen3', config),
  smollm3: (config) => llama('smollm3', config),
  gemma: (config) => llama('gemma', config),
  gemma2: (config) => llama('gemma2', config),
  gemma3_text: (config) => llama('gemma3_text', config),
  gpt2,
  gpt_neox: gptNeox,
  bert: (config) => bert('bert', config),
  roberta: (config) => bert('roberta', config),
  'xlm-roberta': (config) => bert('roberta', config),
  'deberta-v2': deberta,
  t5,
  mt5: t5,
  bart: (config) => bart('bart', config),
  marian: (config) => bart('marian', config),
};

/**
 * The model that a `config.json` describes, and where its weights lie in the checkpoint beside it. Keys that are not known and
 * bear on the model are refused by name; sizes that cannot be are refused when the model is made.
 *
 * @param json what `JSON.parse` gives of the file
 * @throws ConfigError for a model type, or an option, that is not known
 * @example
 * const { config, weights } = configFromHuggingFace(json);
 * const model = fromConfig<Decoder>(config, [Decoder, zeros, GroupedQueryAttention, rotary]);
 */
export function configFromHuggingFace(json: unknown): ModelDescription {
  const config = new HuggingFaceConfig(where, json as Readonly<Record<string, unknown>>);
  const type = config.text('model_type');
  const family = Object.hasOwn(families, type) ? families[type] : undefined;
  if (!family)
    throw new ConfigError(where, `model_type must be one of ${Object.keys(families).join(', ')}`, {
      model_type: type,
    });
  const description = family(config);
  config.finish();
  return description;
}
