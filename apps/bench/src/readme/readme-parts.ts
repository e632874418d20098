// The README's numbers and its picture, from what was measured.
import { svgHeadMaps } from '@polyhead/inspect';
import { broughtLines } from '../compare/what-it-brings';
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import type { Measured, Picture } from './measured';

/** Where the parts stand in README.md. */
const begin = '<!-- measured, written by `npx pnpm readme` -->';
const end = '<!-- end of measured -->';
const terminalWidth = 100;

/**
 * @param performance docs/performance.md, which holds what `bench gates` printed
 * @throws where the README has no place for them
 */
export function withParts(readme: string, measured: Measured, performance: string): string {
  const pieces = withClaim(readme, performance).split(begin);
  const parts = [tableLines(measured), outputLines(measured)];
  if (pieces.length !== parts.length + 1)
    throw new Error(`README.md must hold ${parts.length} times ${begin}`);
  const rest = pieces.slice(1).map((piece, n) => {
    const [, after] = piece.split(end);
    if (after === undefined) throw new Error(`README.md must hold ${end} after each ${begin}`);
    return `${begin}\n${parts[n]!.join('\n')}\n${end}${after}`;
  });
  return pieces[0] + rest.join('');
}

/** The point of the first list that has a number, up to the next. */
const claim = /^- \*\*Fast\.\*\*.*?(?=^- \*\*)/ms;
const prompt = { work: 'causal prefill, 8 heads, S 2048, D 64:', row: 'flash +tfjs-wasm: a product a head' };

function withClaim(readme: string, performance: string): string {
  if (!claim.test(readme)) throw new Error('README.md must have a point “Fast.”, and another behind it');
  const [, table = ''] = performance.split(prompt.work);
  const ratio = new RegExp(`^${prompt.row}.*? ([\\d.]+) ×`, 'm').exec(table)?.[1];
  if (ratio === undefined) throw new Error(`docs/performance.md must hold ${prompt.work} ${prompt.row}`);
  return readme.replace(
    claim,
    `- **Fast.** The fused kernel reads a prompt of 2,048 tokens ${ratio} times as fast as TensorFlow.js's own operations, and
  never holds a matrix of scores: [docs/performance.md](docs/performance.md), other libraries beside it.
`,
  );
}

function tableLines({ brought, environment, processorShare }: Measured): string[] {
  const { kernel, heads, tokens } = brought;
  const sides = [kernel!.from, kernel!.to, heads!.to];
  const rows = sides.map(({ kernel, keyValueHeads, cacheBytes, tokensPerSecond }, n) => [
    `\`${kernel}\``,
    `${keyValueHeads}`,
    formatBytes(cacheBytes),
    `${threeDigits(tokensPerSecond)}${n > 0 ? `, ${threeDigits(tokensPerSecond / sides[0]!.tokensPerSecond)} ×` : ''}`,
  ]);
  const head = ['kernel', 'key/value heads', `cache of ${count(tokens)} tokens`, 'tokens a second'];
  const { cpu, node, tfjs } = environment;
  return [
    '',
    ...markdownTable([head, ...rows]),
    '',
    `A layer 4,096 wide with 32 heads, as in Llama 2 7B, decoding one token; TensorFlow.js ${tfjs} on \`wasm\`, one thread,`,
    `Node ${node.replace(/^v/, '')}, ${cpu.replaceAll(/\((?:R|TM)\)/g, '')}.`,
    ...(processorShare < 0.9
      ? [`The machine was busy: ${percent(processorShare)} of a processor was had.`]
      : []),
    '',
  ];
}

/** The first row is the head, the first column is text, the others hold numbers. */
function markdownTable(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const aligned = rows.map((row) =>
    line(row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)))),
  );
  const rule = line(widths.map((width, n) => (n === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)));
  return [aligned[0]!, rule, ...aligned.slice(1)];
}

function outputLines({ brought, backend }: Measured): string[] {
  return ['', '```text', ...broughtLines(brought, backend, terminalWidth), '```', ''];
}

export function pictureOf({ sentence, layer, head, tokens, weights }: Picture): string {
  const title = `Layer ${layer}, head ${head}: “${sentence}”`;
  const drawn = svgHeadMaps([weights], { queries: tokens, title });
  return drawn.replace('>head 1<', `>head ${head}<`); // the first of the maps that are drawn
}
