// A config.json from outside, read by the names that families of models give the same thing. What nobody has read, though its
// name speaks of attention, can be listed: a plan must not pass over it in silence.
import { ConfigError } from '@polyhead/core';

/** Plain JSON with names of its own. */
export type Json = { readonly [name: string]: unknown };

/** Sizes beyond these are no plan for anything. */
const mostSize = 2 ** 20;
const mostLayers = 2 ** 12;
const mostTokens = 2 ** 30;

/** Names that speak of attention. */
const ofAttention =
  /attn|attention|head|kv|query|key|value_|window|sliding|local|global|latent|lora|rank|share|layer_types|block_types|pattern|hybrid|depths|cross_|mem_blocks|memory|sink|gate|bias|(^|_)qk?v?(_|$)|sparse|compress|bidirection|loop|recurr|retention|dilat|differential|talking|lightning|^index_|indexer|repeat_(layer|block)|(layer|block)s?_repeat|(^|_)(ut|swa|gqa|mqa|cla|nsa|moba|dsa)(_|$)/;
/** Names that do so without bearing on how many numbers are learned or kept. */
const withoutBearing =
  /drop|prob|impl|embed|backend|rope|rotary|theta|scal|cap|norm|_eps|clip|init|tie_|share_input_output|label|rout|(?<!attn_|attention_)expert|moe|mlp|ffn|shared_intermediate|shared_expert|lm_head|vision|image|audio|mamba|ssm|conv|linear_(num|key|value|attn)|image_token|tokens_per|suppress|tokenizer|_token_id|vocab|use_cache|cache_impl|type_size|classifier|summary|multiplier|temperature|flash|sdpa|quant|pretrain|output_attentions|softmax|mask|alibi|max_position|max_batch|max_length|max_sequence|relative_|pos_att|position|share_att_key|residual|parallel|upcast|fp32|reorder|chunk_size_feed|layerdrop|scope|mem_(eff|rank)|skip_bias_add|fused|alpha|beta|logn|pad_key_length|allocate|activation|_act$|sparse_step|num_sparse|compressor|auxiliary|spatial/;
/** Names whose words say how a model attends, and words that say nothing of it. */
const saysKind = /(attn|attention|layer|block|head)s?_(type|kind|mode|method|mechanism)|hybrid|pattern/;
const usualKind =
  /^(sdpa|eager|auto|torch|flash.*|full.*|softmax.*|default|standard|original_full|self|dense)$/i;

/** One object of a config. */
export class ConfigReader {
  private readonly read = new Set<string>();
  /** There, but not of the type that it should have. */
  private readonly misread = new Set<string>();

  /**
   * @param json its values; null counts as absent
   * @param path how its names begin in messages: `text_config.`
   */
  constructor(
    private readonly json: Json,
    readonly path = '',
  ) {}

  /** The value of the first of these names that is there. */
  value(...names: readonly string[]): unknown {
    for (const name of names) this.read.add(name);
    const present = this.nameOf(names);
    return present === undefined ? undefined : this.json[present];
  }

  /** @throws ConfigError unless it is a whole number from 1 on, or absent */
  size(...names: readonly string[]): number | undefined {
    return this.wholeNumber(names, mostSize);
  }

  /** The same of what need not be there: 0 says that it is not. */
  sizeUnlessNone(...names: readonly string[]): number | undefined {
    return this.value(...names) === 0 ? undefined : this.size(...names);
  }

  /** A number of layers. */
  layers(...names: readonly string[]): number | undefined {
    return this.wholeNumber(names, mostLayers);
  }

  /** A number of tokens. */
  tokens(...names: readonly string[]): number | undefined {
    return this.wholeNumber(names, mostTokens);
  }

  /** Tokens of a window: 0 and -1 say that there is none. */
  windowTokens(...names: readonly string[]): number | undefined {
    const value = this.value(...names);
    return value === 0 || value === -1 ? undefined : this.tokens(...names);
  }

  /** True or false where it is said, 1 and 0 likewise. */
  flag(...names: readonly string[]): boolean | undefined {
    const value = this.value(...names);
    if (typeof value === 'boolean' || value === undefined) return value;
    if (value === 0 || value === 1) return value === 1;
    return this.notUnderstood(names);
  }

  text(...names: readonly string[]): string | undefined {
    const value = this.value(...names);
    return typeof value === 'string' || value === undefined ? value : this.notUnderstood(names);
  }

  /** Whether the file has one of these names, with null as well. */
  mentions(...names: readonly string[]): boolean {
    return names.some((name) => Object.hasOwn(this.json, name));
  }

  /** @throws ConfigError for what is there and no list */
  list(...names: readonly string[]): readonly unknown[] | undefined {
    const value = this.value(...names);
    if (value === undefined || Array.isArray(value)) return value;
    throw this.wrong(names, 'must be a list');
  }

  /** The same of words; what is none is told as such. */
  words(...names: readonly string[]): readonly string[] | undefined {
    return this.list(...names)?.map(asWord);
  }

  /** @throws ConfigError where one of these names is there */
  refuse(must: string, ...names: readonly string[]): void {
    if (this.value(...names) !== undefined) throw this.wrong(names, must);
  }

  /** A number of a layer, from 0. @throws ConfigError for another */
  layerNumber(...names: readonly string[]): number | undefined {
    const value = this.value(...names);
    if (value === undefined || (Number.isInteger(value) && (value as number) >= 0))
      return value as number | undefined;
    throw this.wrong(names, 'must be a whole number from 0 on');
  }

  /** Whole numbers from 0 on: sizes, or numbers of layers. @throws ConfigError for a list of others */
  numbers(...names: readonly string[]): readonly number[] | undefined {
    const list = this.list(...names);
    if (list === undefined) return undefined;
    const isNumber = (n: unknown) => Number.isInteger(n) && (n as number) >= 0 && (n as number) <= mostSize;
    if (list.every(isNumber)) {
      this.misread.delete(this.nameOf(names)!);
      return list as readonly number[];
    }
    throw this.wrong(names, 'must be a list of whole numbers');
  }

  /** One of these words; another value is told as not understood. */
  oneOf<T>(values: readonly T[], ...names: readonly string[]): T | undefined {
    const value = this.value(...names);
    return value === undefined || values.includes(value as T) ? (value as T) : this.notUnderstood(names);
  }

  /** An object within; what is there and none is told as not understood. */
  within(...names: readonly string[]): ConfigReader | undefined {
    const name = names.find((each) => isObject(this.value(each)));
    if (name === undefined) return this.value(...names) === undefined ? undefined : this.notUnderstood(names);
    return new ConfigReader(this.json[name] as Json, `${this.path}${name}.`);
  }

  /** What a config of blocks, one by one, says of the attention of each. @throws ConfigError where a block is none */
  blockAttentions(): readonly ConfigReader[] | undefined {
    return this.list('block_configs')?.map((block, n) => {
      const attention = isObject(block) ? (block.attention ?? {}) : block;
      if (isObject(attention))
        return new ConfigReader(attention, `${this.path}block_configs.${n}.attention.`);
      throw new ConfigError('planModel', 'block_configs must hold an object with attention for each block', {
        [`block ${n}`]: shownFact(block),
      });
    });
  }

  /** Names of objects within that say how wide something is: other parts of the model. */
  parts(): readonly string[] {
    const describesPart = (value: unknown) =>
      isObject(value) && Object.keys(value).some((name) => /hidden_size|n_embd|d_model|embed_dim/.test(name));
    return Object.keys(this.json).filter((name) => describesPart(this.json[name]));
  }

  /** What nobody has read or understood, though it may bear on attention: not what is false, 0, empty or null. */
  unread(): readonly string[] {
    const isSaid = (value: unknown) =>
      Boolean(value) && !(typeof value === 'object' && Object.keys(value as object).length === 0);
    const unread = Object.entries(this.json)
      .filter(([name, value]) => !this.read.has(name) && isSaid(value) && !isOnlyText(name, value))
      .map(([name]) => name)
      .filter((name) => ofAttention.test(name) && !withoutBearing.test(name));
    return [...this.misread, ...unread];
  }

  /** The first of these names that is there has a value that nobody knows. */
  notUnderstood(names: readonly string[]): undefined {
    this.misread.add(this.nameOf(names)!);
  }

  private wholeNumber(names: readonly string[], most: number): number | undefined {
    const value = this.value(...names);
    if (value === undefined) return undefined;
    if (Array.isArray(value)) return this.notUnderstood(names); // unless it is asked for as numbers
    if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most)
      return value as number;
    throw this.wrong(names, `must be a whole number from 1 to ${most}`);
  }

  /** The error for the first of these names that is there. */
  private wrong(names: readonly string[], must: string): ConfigError {
    const name = this.nameOf(names)!;
    const value = this.json[name];
    return new ConfigError('planModel', `${this.path}${name} ${must}`, { [name]: shownFact(value) });
  }

  private nameOf(names: readonly string[]): string | undefined {
    return names.find((name) => Object.hasOwn(this.json, name) && this.json[name] !== null);
  }
}

/** Text in quotes; what is within what, as deep as a file may be, by its type. */
function shownFact(value: unknown): unknown {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return 'a list';
  return isObject(value) ? 'an object' : value;
}

/** A word of a list. */
export const asWord = (value: unknown) => (typeof value === 'string' ? value : `(${typeof value})`);

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names of activations, classes and the like say nothing of sizes. */
function isOnlyText(name: string, value: unknown): boolean {
  if (typeof value !== 'string' || /^[a-z_]*attention$|^\d+$/.test(value)) return false;
  return !saysKind.test(name) || usualKind.test(value);
}
