// Bytes of keys and values against length, where memory ends, and where they outweigh the weights.
import { typicalModels } from '@polyhead/inspect';
import type { MatrixResult, MemoryRow } from '../matrix/result';
import { type Rule, type Series, writeTokens } from '../page/chart';
import { type Html, html } from '../page/html';
import { formatBytes } from '../print/byte-size';
import { count } from '../print/format-number';
import { chartFigure } from './figure';

type Layer = MatrixResult['layers'][number];

/** The model that a layer is like, which has so many of them. */
function modelLike({ embedDim, numHeads }: Pick<Layer, 'embedDim' | 'numHeads'>) {
  const like = typicalModels.find(
    ({ config, cached }) =>
      cached &&
      config?.embedDim === embedDim &&
      config.numHeads === numHeads &&
      config.numKeyValueHeads === undefined,
  );
  return { layers: like?.layers ?? 1, name: like?.name };
}

const wasmHeap = 4 * 2 ** 30;

export function memorySection(result: MatrixResult): Html {
  // A layer like no model's is shown only where there is no other.
  const like = result.layers.filter((layer) => modelLike(layer).name !== undefined);
  return html`${(like.length > 0 ? like : result.layers).map((layer) => {
    const rows = result.memory.filter((row) => row.layer === layer.name);
    return rows.length === 0 ? undefined : layerFigure(result, layer, rows);
  })}`;
}

function layerFigure(result: MatrixResult, layer: Layer, rows: readonly MemoryRow[]): Html {
  const { layers, name } = modelLike(layer);
  const lines = shownRows(rows);
  const whole = layers === 1 ? 'one layer' : `the ${layers} layers of ${name}`;
  const crossings = lines.flatMap(({ row, names }) => {
    const at = row.outweighsFrom;
    const before = row.bytes.filter(({ tokens }) => at !== undefined && tokens <= at).at(-1);
    return at === undefined || !before
      ? []
      : [{ names, at, bytes: (before.bytes / before.tokens) * at * layers }];
  });
  return chartFigure({
    id: `memory-${layer.name}`,
    caption: html`<b>${layer.title}, ${whole}:</b> keys and values of one sequence, in bytes. A mark is where they outweigh the layers’ weights; dotted is where memory ends.`,
    chart: {
      description: `Bytes of keys and values against tokens, on logarithmic axes, for ${lines.map(({ names }) => names).join('; ')}. The table below has the numbers.`,
      x: { name: 'tokens', log: 2, write: writeTokens },
      y: { name: 'bytes', log: 2, write: formatBytes },
      series: lines.flatMap(({ row, names }, n): Series[] => [
        {
          name: names,
          look: n,
          hasNoDots: true,
          marks: row.bytes.map(({ tokens, bytes }) => ({ x: tokens, y: bytes * layers })),
        },
        {
          name: '',
          look: n,
          isScattered: true,
          marks: crossings.filter((one) => one.names === names).map(({ at, bytes }) => ({ x: at, y: bytes })),
        },
      ]),
      rules: rulesOf(
        result,
        Math.max(...rows.flatMap(({ bytes }) => bytes.map((one) => one.bytes * layers))),
      ),
    },
    table: {
      caption: `Bytes of keys and values: ${layer.title}, ${whole}`,
      head: [
        'variant and cache',
        'K/V heads',
        'a token',
        ...tableLengths(rows).map(writeTokens),
        'outweighs weights from',
      ],
      rows: rows.map((row) => [
        `${row.variant}, ${row.cache}`,
        { text: `${row.keyValueHeads}`, value: row.keyValueHeads },
        perToken(row, layers),
        ...tableLengths(rows).map((tokens) => {
          const bytes = row.bytes.find((one) => one.tokens === tokens)?.bytes;
          return bytes === undefined ? '' : { text: formatBytes(bytes * layers), value: bytes * layers };
        }),
        row.outweighsFrom === undefined
          ? 'never'
          : { text: `${count(row.outweighsFrom)} tokens`, value: row.outweighsFrom },
      ]),
    },
  });
}

function perToken({ bytes }: MemoryRow, layers: number) {
  const last = bytes.at(-1)!;
  const value = (last.bytes / last.tokens) * layers;
  return { text: formatBytes(Math.round(value)), value };
}

/** Every variant with the first cache, every cache with the first variant; those of equal bytes as one. */
function shownRows(rows: readonly MemoryRow[]) {
  const [first] = rows as readonly [MemoryRow];
  const lines = new Map<string, { row: MemoryRow; names: string[] }>();
  for (const row of rows) {
    const isOther = [row.variant !== first.variant, row.cache !== first.cache];
    if (isOther[0] && isOther[1]) continue;
    const bytes = JSON.stringify([row.bytes, row.outweighsFrom]);
    const line = lines.get(bytes) ?? { row, names: [] };
    const name = isOther[1] ? row.cache : row.variant;
    // Floats as the first keeps them go without saying.
    if (!(isOther[1] && line.row === first)) line.names.push(name);
    lines.set(bytes, line);
  }
  return [...lines.values()].map(({ row, names }) => ({ row, names: [...new Set(names)].join(', ') }));
}

/** At most five. */
function tableLengths(rows: readonly MemoryRow[]): number[] {
  const lengths = rows[0]!.bytes.map(({ tokens }) => tokens);
  const step = Math.ceil(lengths.length / 5);
  return lengths.filter((_, n) => (lengths.length - 1 - n) % step === 0);
}

/** Ends of memory that the lines come near. */
function rulesOf({ machine, backends }: MatrixResult, most: number): Rule[] {
  const ends = [
    ...(backends.some(({ name }) => name === 'wasm') ? [{ at: wasmHeap, name: 'heap of wasm, 4 GiB' }] : []),
    { at: machine.memoryBytes, name: `this machine, ${formatBytes(machine.memoryBytes)}` },
  ];
  return ends.filter(({ at }) => at > 0 && at < 4 * most).map((end) => ({ ...end, axis: 'y' }));
}
