// One text, or two, read and shown wherever it is asked for.
import { svgHeadMaps } from '@polyhead/inspect';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { stackedSvg } from '../page/stacked-svg';
import { attentionPage } from './attention-page';
import { chooseReader } from './choose-reader';
import { type ReadText, readText } from './reader';
import { fromLines, mapLines } from './text-maps';

interface Request {
  readonly texts: readonly string[];
  readonly model: string;
  readonly layer?: number;
  /** A word of each text. */
  readonly from?: string;
  readonly backend?: BackendName;
  /** Absolute paths. */
  readonly svg?: string;
  readonly html?: string;
}

export async function drawAttention(
  { texts, model, layer: wanted, from, backend, svg, html }: Request,
  { print, progress, terminal }: Outlet,
): Promise<void> {
  await chooseBackend(backend);
  const { reader, layer } = await chooseReader(model, wanted);
  const { title } = reader;
  const reads: ReadText[] = [];
  try {
    for (const text of texts) reads.push(await readText(reader, text, layer));
  } finally {
    reader.dispose();
  }
  const words = reads.map((read) => (from === undefined ? [] : fromLines(read, from, terminal.width)));
  const lines = reads.flatMap((read, n) => [
    ...(n > 0 ? [''] : []),
    ...mapLines(read, layer, terminal),
    ...words[n]!,
  ]);
  progress.clear();
  if (svg !== undefined) writeTo(svg, svgOf(reads, layer));
  if (html !== undefined)
    writeTo(html, attentionPage({ title, layer, reads, ...(from !== undefined && { from }) }));
  print(lines);
}

/** One below the other. */
const svgOf = (reads: readonly ReadText[], layer: number): string =>
  stackedSvg(
    reads.map(({ text, pieces, heads }) =>
      svgHeadMaps(heads, { queries: pieces.map((piece) => piece.text), title: `Layer ${layer}: ${text}` }),
    ),
  );
