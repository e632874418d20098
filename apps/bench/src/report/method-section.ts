// Where the numbers come from: machine, load, versions, method; what was not timed, and all cells.

import type { MatrixResult } from '../matrix/result';
import { type Html, html } from '../page/html';
import { foldedTable, table } from '../page/table';
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import { describe } from './speed-sections';

export function methodSection(result: MatrixResult): Html {
  const { machine, versions, load, backends, command, begun, seconds, method } = result;
  const facts: [string, string][] = [
    [
      'machine',
      `${machine.cpu}, ${machine.cores} cores, ${formatBytes(machine.memoryBytes)}, ${machine.platform}`,
    ],
    [
      'load',
      `${percent(load.processorShare)} of a processor was had${load.busy ? ': a busy machine' : ''}; ${load.average.toFixed(1)} running processes at the end`,
    ],
    ...backends.flatMap(({ name, device, passedOver }): [string, string][] => [
      ['backend', `${name} (${device})`],
      ...passedOver.map((other): [string, string] => ['', `not ${other.name}: ${other.reason}`]),
    ]),
    [
      'versions',
      `TensorFlow.js ${versions.tfjs}, Node ${versions.node}${versions.commit === undefined ? '' : `, commit ${versions.commit}`}`,
    ],
    ['run', `${command}, ${begun.slice(0, 16).replace('T', ' ')} UTC, ${count(Math.round(seconds))} seconds`],
  ];
  return html`<dl class="facts">${facts.map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>
`,
  )}</dl>
${method.map(
  (sentence) => html`<p>${sentence}</p>
`,
)}${reproduced(result)}${absent(result)}${allCells(result)}`;
}

function reproduced({ reproduction }: MatrixResult): Html | undefined {
  if (!reproduction) return undefined;
  const { sentences, tokens, layers } = reproduction;
  const caption = 'Largest difference to the encoder’s own graph';
  return html`<h3>Proof</h3>
<p>Both attention layers of Universal Sentence Encoder Lite, by <code>MultiHeadAttention</code> with the published weights and by the model’s own graph, on ${count(sentences)} sentences (${count(tokens)} tokens) of <i>Moby Dick</i>.</p>
${table({
  caption,
  head: ['layer', 'attention weights', 'output'],
  rows: layers.map(({ weights, output }, l) => [
    `layer ${l + 1}`,
    { text: exponential(weights), value: weights },
    { text: exponential(output), value: output },
  ]),
})}`;
}

const exponential = (difference: number) => (difference === 0 ? '0' : difference.toExponential(1));

function absent({ absent: cells }: MatrixResult): Html | undefined {
  if (cells.length === 0) return undefined;
  return html`<h3>Not timed</h3>
${table({
  caption: 'Not timed',
  head: ['what', 'why'],
  rows: cells.map(({ phase, layer, variant, kernel, cache, backend, tokens, why, reason }) => [
    `${phase}, ${layer}, ${variant}, ${kernel}, ${cache} cache, ${backend}, ${count(tokens)} tokens`,
    `${why}: ${reason}`,
  ]),
})}`;
}

function allCells({ cells }: MatrixResult): Html {
  return foldedTable(
    {
      caption: 'All that was timed',
      head: [
        'what',
        'first, ms',
        'median, ms',
        'tenth to ninetieth',
        'tokens a second',
        'bytes of the cache',
        'peak bytes',
        'error',
        'processor',
      ],
      rows: cells.map((cell) => [
        `${describe(cell)}, ${cell.backend}`,
        { text: threeDigits(cell.first), value: cell.first },
        { text: threeDigits(cell.time.median), value: cell.time.median },
        `${threeDigits(cell.time.p10)} to ${threeDigits(cell.time.p90)}`,
        { text: threeDigits(cell.tokensPerSecond), value: cell.tokensPerSecond },
        cell.cacheBytes
          ? { text: formatBytes(cell.cacheBytes.allocated), value: cell.cacheBytes.allocated }
          : '',
        { text: formatBytes(cell.peakBytes), value: cell.peakBytes },
        { text: cell.error.toExponential(0), value: cell.error },
        { text: `${percent(cell.processorShare)}${cell.busy ? ', busy' : ''}`, value: cell.processorShare },
      ]),
    },
    `All ${count(cells.length)} cases that were timed, as a table`,
  );
}
