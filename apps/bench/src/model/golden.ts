// What other libraries compute with the published files.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Golden } from './loaded-model';

interface SmollmFile {
  readonly cases: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    readonly positions: readonly number[];
    readonly topIds: readonly (readonly number[])[];
    readonly topLogits: readonly (readonly number[])[];
    readonly greedy: readonly number[];
    readonly margins: readonly number[];
  }[];
}

interface AnnalogFile {
  readonly vocabulary: readonly string[];
  readonly cases: readonly {
    readonly smiles: string;
    readonly source: readonly number[];
    /** With the token that it starts with. */
    readonly greedy: readonly number[];
    readonly margins: readonly number[];
    readonly logits: readonly (readonly number[])[];
  }[];
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`fixtures/${name}.json`, import.meta.url)), 'utf8'));

export function smollmGolden(): Golden {
  const { cases } = read('smollm2') as SmollmFile;
  return {
    reference: 'transformers 4.45.2 on the same file',
    tolerance: 1e-3,
    leastMargin: 0.05,
    cases: cases.map(({ text, ids, positions, topIds, topLogits, greedy, margins }) => ({
      ...{ text, ids, greedy, margins },
      decoded: ids,
      rows: positions.map((at, n) => ({ at, tokens: topIds[n]!, logits: topLogits[n]! })),
    })),
  };
}

export function annalogGolden(): { readonly golden: Golden; readonly vocabulary: readonly string[] } {
  const { cases, vocabulary } = read('annalog') as AnnalogFile;
  const all = [...vocabulary.keys()];
  const golden: Golden = {
    reference: "the package's own modules, torch 1.13",
    tolerance: 2e-4,
    leastMargin: 0.01,
    cases: cases.map(({ smiles, source, greedy, margins, logits }) => ({
      text: smiles,
      ids: source,
      decoded: greedy.slice(0, -1),
      rows: logits.map((row, at) => ({ at, tokens: all, logits: row })),
      greedy: greedy.slice(1),
      margins,
    })),
  };
  return { golden, vocabulary };
}
