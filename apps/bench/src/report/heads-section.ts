// What heads see and do: maps, where they rest, patterns, and what is lost without them.

import type { MatrixResult } from '../matrix/result';
import { headMapsFigure } from '../page/head-maps';
import { type Html, html } from '../page/html';
import { table } from '../page/table';
import { percent } from '../print/format-number';
import { chartFigure } from './figure';
import type { HeadMaps, Sinks } from './sections';

export function headsSection({ maps = [], sinks = [], study }: MatrixResult): Html {
  return html`${maps.map(mapsOf)}${sinks.map(sinksFigure)}${study ? rolesOf(study) : undefined}`;
}

function mapsOf({ model, layer, text, pieces, heads, statistics, ablation }: HeadMaps): Html {
  return html`<h3>${model}, layer ${layer}</h3>
${headMapsFigure({
  title: `${model}, layer ${layer}`,
  caption: html`“${text}” Each row is a token that looks, each column a token it looks at; a row sums to 1. A sink is a key with half of a head’s weight or more.`,
  pieces,
  heads,
  ...(statistics && { statistics }),
  ...(ablation && { more: { name: 'logits without it change by', shares: ablation } }),
})}`;
}

function sinksFigure({ model, text, token, layers }: Sinks): Html {
  const most = layers.indexOf(Math.max(...layers));
  return html`<h3>${model}: where its layers rest</h3>
${chartFigure({
  id: 'sinks',
  caption: html`The first token’s share (“${token}”) of the weight of each layer, over all heads and the tokens behind it, in “${text}”. Layer ${most + 1} rests on it with ${percent(layers[most]!)}: a cache that forgets it loses what heads use to do nothing (Xiao et al. 2023, arXiv 2309.17453).`,
  chart: {
    description: `Share of the first token by layer, from ${percent(Math.min(...layers))} to ${percent(Math.max(...layers))}.`,
    x: { name: 'layer', write: (layer) => (Number.isInteger(layer) && layer > 0 ? `${layer}` : '') },
    y: { name: 'share of the first token', write: percent, include: [0] },
    series: [{ name: '', marks: layers.map((share, n) => ({ x: n + 1, y: share })) }],
  },
  table: {
    caption: 'Share of the first token',
    head: ['layer', 'share'],
    rows: layers.map((share, n) => [`${n + 1}`, { text: percent(share), value: share }]),
  },
})}`;
}

function rolesOf({ layers, sentences }: NonNullable<MatrixResult['study']>): Html {
  const caption = `What each head of the encoder does, over ${sentences} sentences`;
  return html`<h3>${caption}</h3>
<p>The pattern found most often and how often; entropy and distance are means. The last column is the change of the layer’s output without the head.</p>
${table({
  caption,
  head: [
    'layer and head',
    'pattern',
    'of sentences',
    'entropy, nats',
    'distance, tokens',
    'output without it changes by',
  ],
  rows: layers.flatMap(({ heads }, l) =>
    heads.map(({ pattern, patternShare, entropy, distance, ablation }, h) => [
      `${l + 1}.${h + 1}`,
      pattern,
      { text: percent(patternShare), value: patternShare },
      { text: entropy.toFixed(2), value: entropy },
      { text: distance.toFixed(1), value: distance },
      { text: percent(ablation), value: ablation },
    ]),
  ),
})}`;
}
