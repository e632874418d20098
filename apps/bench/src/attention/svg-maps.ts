// Maps of texts as one SVG document.
import { svgHeadMaps } from '@polyhead/inspect';
import { stackedSvg } from '../page/stacked-svg';
import type { ReadText } from './reader';

/** One below the other. */
export const svgOf = (reads: readonly ReadText[], layer: number): string =>
  stackedSvg(
    reads.map(({ text, pieces, heads }) =>
      svgHeadMaps(heads, { queries: pieces.map((piece) => piece.text), title: `Layer ${layer}: ${text}` }),
    ),
  );
