// A number of each head as a picture: layers down, heads across.
import { svgHeadMaps } from '@polyhead/inspect';

export interface HeadScores {
  /** Of the picture. */
  readonly title: string;
  /** What the numbers are, beside their scale. */
  readonly unit: string;
  readonly headsPerLayer: number;
  /** By the name of a panel, a number of each head, layer by layer; below 0 all look alike. */
  readonly scores: Readonly<Record<string, readonly number[]>>;
}

export function headScoresSvg({ title, unit, headsPerLayer: H, scores }: HeadScores): string {
  const panels = Object.values(scores).map((all) =>
    Array.from({ length: all.length / H }, (_, layer) => all.slice(layer * H, (layer + 1) * H)),
  );
  const numbered = (length: number) => Array.from({ length }, (_, n) => `${n + 1}`);
  return svgHeadMaps(panels, {
    title,
    names: Object.keys(scores),
    queries: numbered(panels[0]!.length),
    keys: numbered(H),
    axes: { queries: 'layers', keys: 'heads', weight: unit },
    columns: Math.min(6, panels.length),
    values: panels[0]!.length <= 8,
  });
}
