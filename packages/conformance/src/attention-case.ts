// A case: sizes and options, with the numbers they call for, the same for the oracle and for a kernel.
import type { AttendOptions } from '@polyhead/core';
import { dropoutFactor } from '@polyhead/core/kernel';
import { randomArray, randomTensor, seededRandom, tabulate } from './inputs';
import { type MaskKind, type MaskName, maskKinds } from './mask-kinds';
import type { HostTensor, OracleInputs, Sizes } from './oracle';

/** Sizes and options of a case. */
export interface CaseRow {
  readonly sizes: Sizes;
  readonly mask?: MaskName;
  readonly bias?: BiasName;
  readonly softcap?: number;
  readonly sinkLogits?: boolean;
  readonly scale?: number | undefined;
  readonly dropout?: number;
  readonly returns?: readonly ('weights' | 'logSumExp')[];
  readonly queryStart?: number | 'ragged' | undefined;
  readonly tensors?: OwnTensors | undefined;
}

/**
 * Tensors of a kernel's own for a call of these sizes, by the names that it `takes`. The third axis is that of tokens wherever it
 * is as long as the keys.
 */
export type OwnTensors = (sizes: Sizes, random: () => number) => { readonly [name: string]: HostTensor };

/** A row with its numbers: the same for the oracle and for a kernel. */
export interface AttentionCase {
  readonly name: string;
  readonly row: CaseRow;
  /** By argument: query, key, value, bias, sinkLogits, and tensors of the kernel's own. */
  readonly arrays: { readonly [argument: string]: HostTensor };
  readonly oracle: OracleInputs;
  /** All but the tensors. The tensors of a dense mask are made here. */
  options(): AttendOptions;
}

/** Sizes by their letters; behind them, what is -Infinity. */
export type BiasName = 'none' | `[${string}]${'' | ' hiding keys' | ' hiding pairs and a row'}`;

/** A row with random numbers; the same row gets the same. */
export function attentionCase(row: CaseRow): AttentionCase {
  const { sizes, mask = 'none', softcap = 0, dropout = 0, scale, returns = [] } = row;
  const starts = queryStarts(row);
  const random = seededRandom(sizes.Sq * 1000 + sizes.Skv * 100 + sizes.D);
  const standard = randomArrays(row, random);
  const own = row.tensors?.(sizes, random);
  const { query, key, value, bias, sinkLogits } = standard;
  const drawn = { rate: dropout, seed: 7 };
  const { isVisible } = maskKinds[mask] as MaskKind;
  return {
    name: nameOf(row),
    row,
    arrays: { ...standard, ...own },
    oracle: {
      sizes,
      query: query.data,
      key: key.data,
      value: value.data,
      softcap,
      isVisible: (b, h, i, j) => isVisible({ sizes, b, h, i, query: starts[b]! + i, j }),
      ...(scale !== undefined && { scale }),
      ...(bias && { bias }),
      ...(sinkLogits && { sinkLogits: sinkLogits.data }),
      ...(own && { tensors: own }),
      ...(dropout > 0 && {
        keep: (b, h, i, key) => dropoutFactor(drawn, { b, h, query: starts[b]! + i, key }),
      }),
    },
    options() {
      const ofKind = maskKinds[mask].mask(sizes);
      return {
        returns,
        ...(ofKind && { mask: ofKind }),
        ...(softcap > 0 && { softcap }),
        ...(scale !== undefined && { scale }),
        ...(dropout > 0 && { dropout: drawn }),
        ...(row.queryStart !== undefined && {
          queryStart: row.queryStart === 'ragged' ? starts : row.queryStart,
        }),
      };
    },
  };
}

/** Token order of the first query, by batch entry. */
function queryStarts({ sizes, queryStart }: CaseRow): readonly number[] {
  const standard = typeof queryStart === 'number' ? queryStart : sizes.Skv - sizes.Sq;
  return Array.from({ length: sizes.B }, (_, b) => (queryStart === 'ragged' ? b : standard));
}

function randomArrays({ sizes, bias = 'none', sinkLogits }: CaseRow, random: () => number) {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = sizes;
  return {
    query: randomTensor([B, Hq, Sq, D], random),
    key: randomTensor([B, Hkv, Skv, D], random),
    value: randomTensor([B, Hkv, Skv, Dv], random),
    ...(bias !== 'none' && { bias: randomBias(bias, sizes, random) }),
    ...(sinkLogits && { sinkLogits: randomTensor([Hq], random) }),
  };
}

export function randomBias(name: BiasName, sizes: Sizes, random: () => number): HostTensor {
  const letters = name.slice(1, name.indexOf(']')).split(', ');
  const shape = letters.map((letter) => (letter === '1' ? 1 : sizes[letter as keyof Sizes]));
  const hides = (b: number, h: number, i: number, j: number) => {
    if (name.endsWith('hiding keys')) return (b + j) % 3 === 0;
    return name.endsWith('hiding pairs and a row') && (h + i === 0 || (i + j) % 3 === 0);
  };
  const entry = (...at: [number, number, number, number]) =>
    hides(...at) ? Number.NEGATIVE_INFINITY : randomArray(1, random)[0]!;
  return tabulate(shape, entry as (...at: number[]) => number);
}

function nameOf({ sizes, returns = [], queryStart, scale, ...row }: CaseRow): string {
  const letters = Object.entries(sizes).map(([letter, size]) => letter + size);
  const words = [
    row.mask ?? 'none',
    row.bias && row.bias !== 'none' && `bias ${row.bias}`,
    row.softcap && `softcap ${row.softcap}`,
    row.sinkLogits && 'sink',
    scale !== undefined && `scale ${scale}`,
    row.dropout && `dropout ${row.dropout}`,
    queryStart !== undefined && `start ${queryStart}`,
    ...returns,
  ];
  return `${letters.join(' ')}: ${words.filter(Boolean).join(', ')}`;
}
