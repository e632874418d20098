// What the attention of a model takes, by its config.json alone.
import { ConfigError } from '@polyhead/core';
import { type CacheStorage, storageBits } from '../cache-bytes';
import { ConfigReader, isObject } from './config-reader';
import { type Family, families, type Role } from './families';
import { layerPattern } from './layer-pattern';
import { attentionOf, type PlannedAttention } from './planned-attention';
import { markUnread, names, namesOf, type Part, required, stackSizes, type Unsure } from './stack-sizes';

/** Bytes by the storage of a number. */
export type BytesByStorage = Readonly<Record<CacheStorage, number>>;

/** What the attention of a model takes. */
export interface ModelPlan {
  /** Tokens that the model is made for; absent where the config does not say. */
  readonly context?: number;
  /** Layers' attentions, cross-attention counted. */
  readonly attentionLayers: number;
  /** Of all layers, shared ones once. */
  readonly parameters: { readonly attention: number };
  /** Of one sequence; null where nothing is kept: in an encoder. */
  readonly cache: {
    /** Of self-attention, as long as no window is full: bare bits, without scales. */
    readonly bytesPerToken: BytesByStorage;
    /** Of cross-attention, for each token of the other sequence. */
    readonly crossBytesPerSourceToken?: BytesByStorage;
  } | null;
  /** Each attention, encoder first. */
  readonly layers: readonly PlannedAttention[];
  /** What the numbers leave out or rest on, in sentences. */
  readonly notes: readonly string[];
  /** Keys that bear on attention and are not understood, by the number that they may change. */
  readonly unsure: {
    readonly attentionLayers: readonly string[];
    readonly parameters: readonly string[];
    readonly cache: readonly string[];
  };
}

/**
 * What the attention of a model takes: layers, parameters, bytes of keys and values. Arithmetic on its config.json; what
 * the file leaves out and its family's code implies is known for some 220 families. A key that bears on attention and is
 * not understood is named in `unsure`, with the number it touches.
 *
 * @param config the parsed config.json of Hugging Face
 * @throws ConfigError where the file lacks a number that cannot be known otherwise, or has one that cannot be
 * @example
 * const { cache } = planModel(JSON.parse(text));
 * console.log(cache?.bytesPerToken.float16);
 */
export function planModel(config: unknown): ModelPlan {
  if (!isObject(config))
    throw new ConfigError('planModel', 'config must be the object of a config.json', { config });
  const { reader, notes } = textModel(new ConfigReader(config));
  const type = reader.text('model_type');
  const family = type === undefined ? undefined : families.get(type);
  const role = roleOf(reader, family);
  const part = { reader, family, notes, unsure: unsureOf(type, family) };
  const layers = layersOf(part, role);
  const context = reader.tokens(...names.context);
  if (!family?.hasNoAttention) markUnread(part);
  return {
    ...(context !== undefined && { context }),
    attentionLayers: layers.length,
    parameters: { attention: sum(layers.map(({ parameters }) => parameters)) },
    cache: role === 'encoder' ? null : cacheOf(layers),
    layers,
    notes: [...new Set([...notes, ...notesOn(layers)])],
    unsure: part.unsure,
  };
}

function unsureOf(type: string | undefined, family: Family | undefined): Unsure {
  const unknown = type === undefined ? 'model_type, which is not there' : `model_type "${type}"`;
  const keys = () => (family ? [] : [unknown]);
  return { attentionLayers: keys(), parameters: keys(), cache: keys() };
}

/** Objects within objects of a config of several models. */
const deepest = 8;

/** Models of text and something else keep the sizes of their text in an object of its own. */
function textModel(
  whole: ConfigReader,
  depth = 0,
): { readonly reader: ConfigReader; readonly notes: string[] } {
  if (depth > deepest)
    throw new ConfigError('planModel', `config must hold its text's within ${deepest} others`);
  const path = ['text_config', 'llm_config', 'language_config', 'language_model', 'thinker_config'];
  const own = whole.layers(...names.layers) !== undefined && whole.value(...names.heads) !== undefined;
  const inner = own ? undefined : whole.within(...path);
  const counted = twoWithin(whole)?.map(({ path: place }) => place) ?? [inner?.path];
  const others = whole.parts().filter((name) => !counted.some((place) => place === `${whole.path}${name}.`));
  const notes = others.map((name) => `its ${name} is another part of the model, and is not counted`);
  if (!inner) return { reader: whole, notes };
  const deeper = textModel(inner, depth + 1);
  return { reader: deeper.reader, notes: [...notes, ...deeper.notes] };
}

function roleOf(reader: ConfigReader, family: Family | undefined): Role {
  const classes = (reader.words('architectures') ?? []).join();
  if (reader.flag('is_encoder_decoder') ?? false) return 'encoder-decoder';
  if (reader.flag('is_decoder') ?? false) return 'decoder';
  const bothWays = reader.oneOf([true, false, 'all', 'vision'], 'use_bidirectional_attention');
  if (bothWays === true || bothWays === 'all' || reader.flag('is_causal', 'causal') === false)
    return 'encoder'; // an embedding of texts
  if (family) return family.role ?? 'decoder';
  return /MaskedLM|ImageClassification|SequenceClassification|TokenClassification/.test(classes)
    ? 'encoder'
    : 'decoder';
}

function layersOf(part: Part, role: Role): readonly PlannedAttention[] {
  if (part.family?.hasNoAttention) return [];
  const two = twoWithin(part.reader);
  if (two) return twoModels(part, ...two);
  return role === 'encoder-decoder' ? encoderDecoder(part) : oneStack(part, role);
}

/** Configs of an encoder and a decoder within another. */
function twoWithin(
  reader: ConfigReader,
): readonly [encoder: ConfigReader, decoder: ConfigReader] | undefined {
  const [encoder, decoder] = [reader.within('encoder', 'text_encoder'), reader.within('decoder')];
  return encoder && decoder && [encoder, decoder];
}

/** An encoder and a decoder of other families, put together: the decoder attends to the encoder, too. */
function twoModels(
  { notes, unsure }: Part,
  ...[encoder, decoder]: readonly [encoder: ConfigReader, decoder: ConfigReader]
): readonly PlannedAttention[] {
  const [encoding, decoding] = [encoder, decoder].map((reader) => {
    const type = reader.text('model_type');
    const family = type === undefined ? undefined : families.get(type);
    const ofFamily = unsureOf(type, family);
    for (const name of ['attentionLayers', 'parameters', 'cache'] as const) {
      const known = unsure[name].filter((key) => !key.startsWith('model_type'));
      unsure[name].splice(0, Infinity, ...known, ...ofFamily[name]);
    }
    return { reader, family, notes, unsure };
  }) as [Part, Part];
  const sources = oneStack(encoding, 'encoder');
  const width = decoding.reader.size('cross_attention_hidden_size'); // else a layer outside attention brings them to the decoder's
  const own = oneStack(decoding, 'decoder').filter(({ cross }) => !cross);
  const cross = own.map((layer) => {
    const { embedDim, numKeyValueHeads, headDim, valueHeadDim, parameters } = layer;
    const wider = numKeyValueHeads * (headDim + valueHeadDim) * ((width ?? embedDim) - embedDim);
    return { ...crossOf(layer), parameters: parameters + wider, matrices: layer.matrices + wider };
  });
  for (const part of [encoding, decoding]) markUnread(part);
  return [...sources, ...own, ...cross];
}

function oneStack(part: Part, side: 'encoder' | 'decoder'): readonly PlannedAttention[] {
  const { reader, family, unsure } = part;
  const count = required(part, namesOf(side).layers, (keys) => reader.layers(...keys));
  const pattern = layerPattern(reader, count, family);
  unsure.attentionLayers.push(...pattern.unsure);
  unsure.cache.push(...pattern.unsure);
  const sizes = stackSizes(part, side);
  for (const heads of [sizes.heads, sizes.keyValueHeads]) {
    if (typeof heads !== 'object' || heads.length <= count) continue;
    const doubt = `${heads.length} numbers of heads for ${count} layers`;
    unsure.parameters.push(doubt);
    unsure.cache.push(doubt);
  }
  const layers = pattern.layers.map((kind) => attentionOf(sizes, kind, side));
  const addsCross = side === 'decoder' && reader.flag('add_cross_attention') === true;
  return [...layers, ...(addsCross ? layers.map(crossOf) : [])];
}

function encoderDecoder(part: Part): readonly PlannedAttention[] {
  const decoder = oneStack(part, 'decoder').filter(({ cross }) => !cross);
  return [...oneStack(part, 'encoder'), ...decoder, ...decoder.map(crossOf)];
}

/** The attention to another sequence that a layer has beside its own: all of it is seen. */
function crossOf({ window: _, ...layer }: PlannedAttention): PlannedAttention {
  return { ...layer, cross: true };
}

function cacheOf(layers: readonly PlannedAttention[]): ModelPlan['cache'] {
  const numbersOf = (cross: boolean) =>
    sum(layers.filter((layer) => layer.cross === cross).map(({ cachedNumbers }) => cachedNumbers));
  const bytes = (numbers: number) =>
    Object.fromEntries(
      Object.entries(storageBits).map(([storage, bits]) => [storage, (numbers * bits) / 8]),
    ) as BytesByStorage;
  const cross = numbersOf(true);
  return {
    bytesPerToken: bytes(numbersOf(false)),
    ...(cross > 0 && { crossBytesPerSourceToken: bytes(cross) }),
  };
}

function notesOn(layers: readonly PlannedAttention[]): readonly string[] {
  const windows = new Map<number, number>();
  for (const { window } of layers) if (window) windows.set(window, (windows.get(window) ?? 0) + 1);
  const counted = (n: number) =>
    n === layers.length ? 'all layers see' : `${n} of ${layers.length} layers see`;
  const shared = layers.filter(({ part, cachedNumbers }) => part === 'decoder' && cachedNumbers === 0).length;
  return [
    ...[...windows].map(
      ([window, n]) =>
        `${counted(n)} a window of ${window} tokens: beyond it a bounded cache stops growing there`,
    ),
    ...(shared > 0 ? [`${shared} of ${layers.length} layers read the keys and values of another`] : []),
    ...(layers.some(({ parameters }) => parameters === 0)
      ? ['layers share their variables, which are counted once']
      : []),
    ...(layers.some(({ isLatent }) => isLatent)
      ? ['heads are made of a latent vector, which is all that a cache keeps']
      : []),
  ];
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
