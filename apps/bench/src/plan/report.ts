// A plan as lines that a person reads.
import type { PlannedAttention } from '@polyhead/inspect';
import { printable, shown } from '../command-line/json-object';
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import { groupsOf, type Plan } from './plan';
import type { PlannedModel } from './planned-model';

export function planLines(plan: Plan, width: number): string[] {
  const { parameters, model } = plan;
  const asFloats = (numbers: number) => formatBytes(4 * numbers);
  return [
    ...describeModel(model),
    parameterLine(plan),
    `their matrices as float32: ${asFloats(parameters.matrices)}; with the copies that wasm packs, ${asFloats(2 * parameters.matrices)}`,
    ...noteLines(model),
    '',
    ...cacheLines(plan, width),
    ...flopLines(plan, width),
  ].map(printable); // names are of a file
}

function describeModel({ name, layers }: PlannedModel): string[] {
  const title = `${name}: ${count(layers.length)} attention layer${layers.length === 1 ? '' : 's'}`;
  const groups = groupsOf(layers);
  if (groups.length === 1) return [`${title}, ${describeLayer(groups[0]!.layer)}`];
  const kinds = groups.map(({ layer, count: n }) => {
    const where = [layer.part, ...(layer.cross ? ['cross-attention'] : [])].join(', ');
    return `  ${count(n)} × ${where}: ${describeLayer(layer)}`;
  });
  return [title, ...kinds];
}

function describeLayer(layer: PlannedAttention): string {
  const { embedDim, numHeads, numKeyValueHeads, headDim, window, isLatent, cachedNumbers } = layer;
  if (isLatent)
    return `${count(embedDim)} wide, ${count(numHeads)} heads from a latent, ${count(cachedNumbers)} numbers kept of a token`;
  const heads = `${count(embedDim)} wide, ${count(numHeads)} heads × ${count(headDim)}, ${count(numKeyValueHeads)} key/value heads`;
  const reads = layer.part === 'decoder' && cachedNumbers === 0 ? ", which read another's" : '';
  return `${heads}${reads}${window === undefined ? '' : `, a window of ${count(window)}`}`;
}

function parameterLine({ model, parameters }: Plan): string {
  const [first] = model.layers;
  const isUniform = model.layers.every((layer) => layer.parameters === first!.parameters);
  if (!first || !isUniform) return `parameters of attention: ${count(parameters.all)} in all`;
  const { parameters: ofLayer, matrices } = first;
  const without = ofLayer === matrices ? '' : ` (${count(matrices)} without biases)`;
  return `parameters of attention: ${count(ofLayer)} a layer${without}, ${count(parameters.all)} in all`;
}

/** Notes, and what is not understood. */
function noteLines({ notes, unsure }: Pick<PlannedModel, 'notes' | 'unsure'>): string[] {
  const numbers = { attentionLayers: 'layers', parameters: 'parameters', cache: 'bytes' };
  const doubts = Object.entries(numbers).flatMap(([name, words]) => {
    const keys = unsure[name as keyof typeof unsure];
    return keys.length === 0 ? [] : [`unsure of ${words}: ${listed(keys)} is not understood`];
  });
  return [...doubts, ...notes];
}

const mostListed = 12;

/** Each once; JSON has all. */
function listed(keys: readonly string[]): string {
  const names = [...new Set(keys)];
  const more = names.length - mostListed;
  return names.slice(0, mostListed).map(shown).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function cacheLines({ cache, fits, memory, batch, model }: Plan, width: number): string[] {
  if (!cache) return ['an encoder: it keeps no keys and values between calls'];
  const storages = Object.keys(cache[0]!.bytes);
  const rows = cache.map(({ tokens, isBounded, bytes }) => [
    isBounded ? windowsBounded : `${count(tokens)} token${tokens === 1 ? '' : 's'}`,
    ...storages.map((storage) => formatBytes(bytes[storage]!)),
  ]);
  const longest = (fits ?? []).map(({ isBounded, tokens }) => [
    isBounded ? windowsBounded : `in ${memory!.text}`,
    ...storages.map((storage) => contextOf(tokens[storage]!)),
  ]);
  const cross = model.cache?.crossBytesPerSourceToken;
  return [
    `Keys and values of ${sequences(batch)}, all layers`,
    ...alignWithin(width, [['context', ...storages], ...rows, ...longest], {
      right: storages.map((_, n) => n + 1),
    }),
    'int8 and int4 without their scales',
    ...(cache.some(({ isBounded }) => isBounded)
      ? ['windows bounded: layers of a window in a ring, which keeps floats beside a quantized cache']
      : []),
    ...(cross ? [`beside them, of each token of the source: ${formatBytes(cross.float32)} as float32`] : []),
  ];
}

const windowsBounded = '  windows bounded';
const contextOf = (tokens: number) => (tokens === Infinity ? 'without end' : `${count(tokens)} tokens`);

const parts = [
  ['projections', 'projections'],
  ['scores', 'scores'],
  ['values', 'mixing'],
  ['together', 'total'],
] as const;

function flopLines({ flops, context, batch }: Plan, width: number): string[] {
  const { prompt, token } = flops;
  return [
    '',
    `Operations on ${sequences(batch)}, all layers`,
    ...alignWithin(
      width,
      [
        ['', `a prompt of ${count(context)} tokens`, ...(token ? [`token ${count(context)} alone`] : [])],
        ...parts.map(([name, part]) => [
          name,
          operations(prompt[part]),
          ...(token ? [operations(token[part])] : []),
        ]),
      ],
      { right: [1, 2] },
    ),
  ];
}

const sequences = (batch: number) => `${count(batch)} sequence${batch === 1 ? '' : 's'}`;

/** A multiplication and an addition are two. */
function operations(flops: number): string {
  const prefixes = ['', 'K', 'M', 'G', 'T', 'P', 'E'];
  const power = Math.min(prefixes.length - 1, Math.floor(Math.log10(Math.max(1, flops)) / 3));
  return `${threeDigits(flops / 1000 ** power)} ${prefixes[power]}FLOP`;
}

/** What other programs read. */
export function planJson({ model, parameters, memory, fits }: Plan): object {
  const { name, context = null, layers, cache, unsure } = model;
  return {
    model: name,
    context,
    attentionLayers: layers.length,
    parameters: { attention: parameters.all },
    cache,
    ...(memory && fits && { memory: { bytes: memory.bytes, longestContext: fits } }), // null: without end
    unsure,
    notes: noteLines(model),
  };
}
