// How a page looks: in light and dark, on a phone, on paper. Colors of series are told apart with each kind of color
// blindness, and in grey by their shapes (after Okabe & Ito 2008, darker or lighter until text in them can be read).

/** How many series have a color of their own. */
export const seriesColors = 7;

const lightSeries = ['#005f9e', '#b04400', '#00704f', '#9a3576', '#6f5500', '#3f4aa8', '#4a5157'];
const darkSeries = ['#62b5f3', '#f79256', '#45cb9f', '#e7a0ca', '#e3bd54', '#a9b1ff', '#c3c9ce'];

type Palette = Readonly<Record<string, string>>;
const palette = (series: readonly string[], rest: Palette): Palette => ({
  ...Object.fromEntries(series.map((color, n) => [`s${n}`, color])),
  ...rest,
});
const light = palette(lightSeries, {
  ...{ paper: '#fdfdfb', ink: '#1c1f22', soft: '#555b61', line: '#d9dad6', tint: '#f2f2ee' },
  ...{ link: '#00558c', mark: '#005f9e' },
});
const dark = palette(darkSeries, {
  ...{ paper: '#15181b', ink: '#e9ebec', soft: '#a9b0b6', line: '#363b40', tint: '#1f2428' },
  ...{ link: '#8cc8f7', mark: '#62b5f3' },
});
const variables = (colors: Palette) =>
  Object.entries(colors)
    .map(([name, color]) => `--${name}: ${color};`)
    .join(' ');

const chartStyle = `
.chart { font: 12px/1 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; overflow: visible; }
.chart text { fill: var(--soft); }
.chart .name { font-weight: 600; }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .axis { stroke: var(--soft); stroke-width: 1; }
.chart .rule { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 2 4; }
.chart .rule-name, .chart .title { fill: var(--ink); }
.chart .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.chart .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .dashed { stroke-dasharray: 6 5; }
.chart .spread { stroke-width: 1.5; opacity: 0.7; }
.chart .leader { stroke-width: 1; opacity: 0.6; }
.chart .dot { stroke: var(--paper); stroke-width: 1; }
${lightSeries
  .map(
    (_, n) =>
      `.chart .s${n} { stroke: var(--s${n}); } .chart .dot.s${n} { fill: var(--s${n}); stroke: var(--paper); } .chart text.s${n} { fill: var(--s${n}); stroke: none; }`,
  )
  .join('\n')}
.chart text.halo { stroke: var(--paper); }
`;

/** The same in a picture of its own, which may stand where variables mean nothing: light, on white. */
export const pictureStyle = chartStyle.replace(
  /var\(--(\w+)\)/g,
  (_, name: string) => ({ ...light, paper: '#ffffff' })[name]!,
);

export const style = `
:root { color-scheme: light dark; ${variables(light)} }
@media (prefers-color-scheme: dark) { :root { ${variables(dark)} } }
@media print { :root { color-scheme: light; ${variables(light)} } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
main, header, footer { max-width: 47.5rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 0.9375rem; font-weight: 600; letter-spacing: 0.02em; color: var(--soft); margin: 0 0 0.75rem; }
.lead { font-size: clamp(1.375rem, 1.1rem + 1.6vw, 1.875rem); line-height: 1.28; font-weight: 600; letter-spacing: -0.012em; margin: 0 0 1rem; text-wrap: pretty; }
.aside { color: var(--soft); margin: 0 0 1.5rem; }
h2 { font-size: 1.375rem; line-height: 1.25; letter-spacing: -0.008em; margin: 3.5rem 0 0.5rem; text-wrap: balance; }
h3 { font-size: 1.0625rem; margin: 2rem 0 0.25rem; }
p { margin: 0 0 1rem; max-width: 66ch; text-wrap: pretty; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: 0.5rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0.75rem 0; margin: 1.5rem 0 0; border-block: 1px solid var(--line); font-size: 0.9375rem; }
nav a { display: inline-block; padding: 0.25rem 0; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1.25rem 2rem; margin: 1.75rem 0 0; padding: 0; }
.answers div { border-top: 2px solid var(--ink); padding-top: 0.5rem; }
.answers dt { font-size: 0.875rem; color: var(--soft); }
.answers dd { margin: 0; }
.answers .number { display: block; font-size: 1.75rem; font-weight: 600; line-height: 1.25; letter-spacing: -0.015em; }
.answers .what { font-size: 0.9375rem; line-height: 1.4; }
.warning { border-left: 4px solid var(--s1); padding: 0.25rem 0 0.25rem 0.875rem; margin: 1.5rem 0 0; }
figure { margin: 1.25rem 0 0; }
figcaption { font-size: 0.9375rem; line-height: 1.45; color: var(--soft); margin: 0 0 0.5rem; max-width: 70ch; }
figcaption b { color: var(--ink); }
svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }${chartStyle}.map { background: #fff; border-radius: 6px; width: fit-content; max-width: 100%; overflow: hidden; outline: 1px solid var(--line); }
.maps { display: grid; gap: 1rem; }
details { margin: 0.5rem 0 0; font-size: 0.9375rem; }
summary { cursor: pointer; padding: 0.375rem 0; color: var(--link); width: fit-content; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.4; margin: 0.25rem 0 0.5rem; }
th, td { text-align: left; padding: 0.3125rem 1rem 0.3125rem 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
th { font-weight: 600; }
thead th { border-bottom-color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 400; min-width: 5.75rem; }
.right { text-align: right; white-space: nowrap; }
bdi { unicode-bidi: isolate; }
code { font: 0.9em ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
dl.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: 0.25rem 1.5rem; margin: 0.75rem 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 0.875rem; padding-top: 3rem; padding-bottom: 3rem; }
@media (max-width: 43rem) {
  body { font-size: 1rem; }
  .wide { display: none; }
  .narrow { display: block; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin: 0 0 0.5rem; }
}
@media print {
  @page { margin: 16mm 14mm; }
  body { font-size: 10pt; }
  .wide { display: block; }
  .narrow, nav, .skip, summary { display: none; }
  header, main, footer { max-width: none; padding: 0; }
  h2 { break-after: avoid; margin-top: 1.75rem; }
  figure, .chart, .map, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; }
  a { color: inherit; text-decoration: none; }
}
`;
