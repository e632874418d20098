// The first line of the page, and the few numbers that bear it out.
import type { Brought, MatrixResult } from '../matrix/result';
import { type Html, html } from '../page/html';
import { formatBytes } from '../print/byte-size';
import { atMost, count, percent, threeDigits } from '../print/format-number';

type Contrast = NonNullable<Brought['kernel']>;

/** Faster by less than this is not worth a sentence. */
const worthSaying = 1.05;

export function adviceOf({ brought, complete }: MatrixResult): string {
  if (!brought)
    return complete
      ? 'Nothing was compared in this run.'
      : 'This run is not over: there is nothing to act on yet.';
  const { kernel, storage, heads } = brought;
  const isWorth = (contrast?: Contrast): contrast is Contrast => (contrast?.speedUp ?? 0) >= worthSaying;
  const choices = [
    ...(isWorth(kernel) ? [`the ${kernel.to.kernel} kernel`] : []),
    ...(isWorth(storage) ? [`the ${storage.to.cache} cache`] : []),
    ...(isWorth(heads)
      ? [`a model with ${heads.to.keyValueHeads} key/value heads instead of ${heads.from.keyValueHeads}`]
      : []),
  ];
  if (choices.length === 0)
    return 'Take what you have: kernel, cache and heads made no difference in this run.';
  const taken = new Intl.ListFormat('en').format(choices);
  if (!isWorth(heads)) return `Take ${taken}.`;
  const memory = `${percent(heads.to.cacheBytes / heads.from.cacheBytes)} of the cache`;
  // Times of different turns are not to be compared.
  const isChain = isWorth(kernel) && kernel.to.milliseconds === heads.from.milliseconds;
  const from = isChain ? kernel.from : heads.from;
  const faster = `${threeDigits(from.milliseconds / heads.to.milliseconds)} times as fast`;
  const than = `${isChain ? `${from.kernel} and ` : ''}${from.keyValueHeads} heads`;
  return `Take ${taken}: a token comes ${faster} as with ${than}, in ${memory}.`;
}

export function answersOf({ brought, backends, load }: MatrixResult): Html {
  if (!brought) return html``;
  const { layer, tokens, batch, cache, kernel, heads, storage, projections, outweighs, busy } = brought;
  const answers = [
    ...(kernel
      ? [
          contrastAnswer(
            'What the kernel brings a token',
            kernel,
            `${kernel.to.kernel} instead of ${kernel.from.kernel}: the same numbers, within ${atMost(Math.max(kernel.from.error, kernel.to.error))} of doubles`,
          ),
        ]
      : []),
    ...(storage
      ? [
          contrastAnswer(
            'What the cache brings',
            storage,
            `${storage.to.cache} instead of ${storage.from.cache}`,
          ),
        ]
      : []),
    ...(heads
      ? [
          contrastAnswer(
            'What fewer key/value heads bring',
            heads,
            `${heads.to.keyValueHeads} instead of ${heads.from.keyValueHeads}: ${formatBytes(heads.to.cacheBytes)} a layer instead of ${formatBytes(heads.from.cacheBytes)}${projections ? `; ${percent(projections.share)} of the time saved by smaller projections` : ''}`,
          ),
        ]
      : []),
    ...outweighs.slice(0, 1).map(({ tokens: from, keyValueHeads }) => ({
      title: 'Where keys and values outweigh the weights',
      number: `${count(from)} tokens`,
      value: from,
      what: `with ${keyValueHeads} key/value heads${outweighs[1] ? `; with ${outweighs[1].keyValueHeads} from ${count(outweighs[1].tokens)}` : ''}`,
    })),
  ];
  return html`<p class="aside">${layer}, ${count(tokens)} tokens in the ${cache} cache, ${batch === 1 ? 'one sequence' : `${batch} sequences`}, on ${backends[0]?.name}. Float32, no training.</p>
${busy || load.busy ? html`<p class="warning">The machine was busy: this run had ${percent(load.processorShare)} of a processor. Ratios between its numbers are less sure than they look.</p>` : undefined}
<dl class="answers">${answers.map(
    ({
      title,
      number,
      value,
      what,
    }) => html`<div><dt>${title}</dt><dd><span class="number" data-value="${value}">${number}</span><span class="what">${what}</span></dd></div>
`,
  )}</dl>`;
}

const contrastAnswer = (title: string, { speedUp }: Contrast, what: string) => ({
  title,
  number: `${threeDigits(speedUp)} ×`,
  value: speedUp,
  what,
});
