// What smaller keys and values cost in quality.
import type { MatrixResult } from '../matrix/result';
import { type Series, writeNumber } from '../page/chart';
import { type Html, html } from '../page/html';
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import { chartFigure } from './figure';
import type { ModelQuality, TrainedDecoders } from './sections';

export function qualitySection({ study, quality = [], trained }: MatrixResult): Html {
  return html`${quality.map(perplexityFigure)}${trained ? trainedFigure(trained) : undefined}${study ? similarityFigure(study) : undefined}`;
}

/** Less more than this is none, on a logarithmic axis. */
const leastMore = 0.001;

function perplexityFigure({ model, tokens, points }: ModelQuality, n: number): Html {
  const [first] = points as [ModelQuality['points'][number]];
  const kinds = [...new Set(points.slice(1).map(({ kind }) => kind))];
  const markOf = ({ bytes, perplexity, name }: ModelQuality['points'][number]) => ({
    x: bytes,
    y: Math.max(leastMore, perplexity / first.perplexity - 1),
    data: { perplexity },
    hint: `${name}: perplexity ${threeDigits(perplexity)} in ${formatBytes(bytes)}`,
    label: name,
  });
  const series: Series[] = kinds.map((kind, look) => ({
    name: kind,
    look,
    isScattered: true,
    marks: points
      .filter((point) => point.kind === kind)
      .map(markOf)
      .sort((a, b) => a.x - b.x),
  }));
  return chartFigure({
    id: `quality-${n + 1}`,
    caption: html`<b>${model}:</b> how much larger its perplexity on ${count(tokens)} tokens of <i>Moby Dick</i> becomes, against the bytes of their keys and values. As it is: ${threeDigits(first.perplexity)} in ${formatBytes(first.bytes)}. Lower and further left is better. Nothing was trained.`,
    chart: {
      description: `Perplexity of ${model} against bytes of keys and values: ${points.map(({ name, perplexity }) => `${name} ${threeDigits(perplexity)}`).join(', ')}.`,
      x: { name: 'bytes', log: 2, write: formatBytes, include: [first.bytes] },
      y: { name: 'perplexity, more than as it is', log: 10, write: writeMore, include: [0.01] },
      series,
      namesLines: false,
    },
    table: {
      caption: `Perplexity of ${model}`,
      head: ['keys and values', 'bytes', 'of all', 'perplexity', 'more than as it is'],
      rows: points.map(({ name, bytes, perplexity }) => [
        name,
        { text: formatBytes(bytes), value: bytes },
        `${((100 * bytes) / first.bytes).toFixed(0)} %`,
        { text: threeDigits(perplexity), value: perplexity },
        `${(100 * (perplexity / first.perplexity - 1)).toFixed(1)} %`,
      ]),
    },
  });
}

/** 0.1 %, 25 %, 344 times. */
const writeMore = (more: number) =>
  more < 10 ? `${writeNumber(100 * more)} %` : `${writeNumber(more)} times`;

function similarityFigure({ layers, sentences, tokens }: NonNullable<MatrixResult['study']>): Html {
  return chartFigure({
    id: 'similarity',
    caption: html`<b>Universal Sentence Encoder Lite:</b> cosine of a layer’s output with fewer key/value heads, each the mean of those it replaces, to that of the published layer; over ${count(tokens)} tokens of ${sentences} sentences, with the lowest tenth. Nothing was trained.`,
    chart: {
      description: `Cosine similarity against key/value heads: ${layers.map(({ variants }, l) => `layer ${l + 1} ${variants.map(({ keyValueHeads, similarity }) => `${keyValueHeads} heads ${similarity.mean.toFixed(3)}`).join(', ')}`).join('; ')}.`,
      x: { name: 'bytes of keys and values a token', log: 2, write: formatBytes },
      y: { name: 'cosine', write: (value) => value.toFixed(2) },
      series: layers.map(({ variants }, l) => ({
        name: `layer ${l + 1}`,
        marks: variants
          .map(({ cacheBytesPerToken, similarity, keyValueHeads }) => ({
            x: cacheBytesPerToken,
            y: similarity.mean,
            low: similarity.p10,
            high: similarity.mean,
            label: `${keyValueHeads}`,
            hint: `layer ${l + 1}, ${keyValueHeads} key/value heads: ${similarity.mean.toFixed(3)}`,
          }))
          .reverse(),
      })),
    },
    table: {
      caption: 'The encoder with fewer key/value heads',
      head: ['layer', 'K/V heads', 'cosine', 'lowest tenth', 'parameters', 'bytes a token'],
      rows: layers.flatMap(({ variants }, l) =>
        variants.map(({ keyValueHeads, similarity, parameters, cacheBytesPerToken }) => [
          `layer ${l + 1}`,
          { text: `${keyValueHeads}`, value: keyValueHeads },
          { text: similarity.mean.toFixed(3), value: similarity.mean },
          { text: similarity.p10.toFixed(3), value: similarity.p10 },
          { text: count(parameters), value: parameters },
          { text: formatBytes(cacheBytesPerToken), value: cacheBytesPerToken },
        ]),
      ),
    },
  });
}

function trainedFigure({ command, commit, steps, complete, points }: TrainedDecoders): Html {
  const kept = `${command}${commit === undefined ? '' : `, commit ${commit}`}`;
  return chartFigure({
    id: 'trained',
    caption: html`<b>Small decoders, trained:</b> bits a byte of held-out chapters of <i>Moby Dick</i> after ${count(steps)} steps, each the mean over its seeds with their spread, against bytes of keys and values. Lower is better. As the repository keeps them (${kept})${complete ? '' : ', not all of them yet'}.`,
    chart: {
      description: `Bits a byte against bytes of keys and values a token: ${points.map(({ name, heldOut }) => `${name} ${heldOut.toFixed(3)}`).join(', ')}.`,
      x: { name: 'bytes of keys and values a token', log: 2, write: formatBytes },
      y: { name: 'bits a byte', write: (value) => value.toFixed(2) },
      series: points.map(({ name, bytesPerToken, heldOut, spread = 0 }) => ({
        name,
        isScattered: true,
        marks: [
          {
            x: bytesPerToken,
            y: heldOut,
            low: heldOut - spread,
            high: heldOut + spread,
            label: name,
            hint: `${name}: ${heldOut.toFixed(3)} bits a byte`,
          },
        ],
      })),
      namesLines: false,
    },
    table: {
      caption: 'Small decoders, trained',
      head: ['variant and positions', 'bytes a token', 'bits a byte', 'spread', 'seeds'],
      rows: points.map(({ name, bytesPerToken, heldOut, spread, seeds }) => [
        name,
        { text: formatBytes(bytesPerToken), value: bytesPerToken },
        { text: heldOut.toFixed(3), value: heldOut },
        spread === undefined ? '' : { text: spread.toFixed(3), value: spread },
        { text: `${seeds}`, value: seeds },
      ]),
    },
  });
}
