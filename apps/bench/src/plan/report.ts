// A plan as lines that a person reads.
import { cacheShape } from '@polyhead/inspect';
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { Plan } from './plan';
import type { PlannedModel } from './planned-model';

export function planLines(plan: Plan, width: number): string[] {
  const { parameters, model } = plan;
  return [
    describeModel(model),
    parameters
      ? `parameters of attention: ${count(parameters.layer)} a layer, ${count(parameters.all)} in all`
      : 'its heads come from a latent: parameters and operations are not counted',
    ...model.notes,
    '',
    ...cacheLines(plan, width),
    ...flopLines(plan, width),
  ];
}

function describeModel({ name, layers, config, cached }: PlannedModel): string {
  const title = `${name}: ${count(layers)} attention layer${layers === 1 ? '' : 's'}`;
  if (!config) return `${title}, ${count(cached!.keySize)} numbers kept of a token in each`;
  const { heads, keySize } = cacheShape(config);
  const { embedDim, numHeads } = config;
  return `${title}, ${count(embedDim)} wide, ${count(numHeads)} heads × ${count(keySize)}, ${count(heads)} key/value heads`;
}

function cacheLines({ cache, fits, memory, batch }: Plan, width: number): string[] {
  if (!cache) return ['an encoder: it keeps no keys and values between calls'];
  const storages = Object.keys(cache[0]!.bytes);
  const rows = cache.map(({ tokens, bytes }) => [
    `${count(tokens)} token${tokens === 1 ? '' : 's'}`,
    ...storages.map((storage) => formatBytes(bytes[storage]!)),
  ]);
  const most = fits && [
    `in ${memory!.text}`,
    ...storages.map((storage) => `${count(fits[storage]!)} tokens`),
  ];
  return [
    `Keys and values of ${sequences(batch)}, all layers`,
    ...alignWithin(width, [['context', ...storages], ...rows, ...(most ? [most] : [])], {
      right: storages.map((_, n) => n + 1),
    }),
    'int8 and int4 without their scales',
  ];
}

const parts = [
  ['projections', 'projections'],
  ['scores', 'scores'],
  ['values', 'mixing'],
  ['together', 'total'],
] as const;

function flopLines({ flops, context, batch }: Plan, width: number): string[] {
  if (!flops) return [];
  const { prompt, token } = flops;
  return [
    '',
    `Operations on ${sequences(batch)}, all layers`,
    ...alignWithin(
      width,
      [
        [
          '',
          `a prompt of ${count(context)} tokens`,
          ...(token ? [`token ${count(context)} behind the others`] : []),
        ],
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
