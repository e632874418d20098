// Structures of the module written down in memory: the fields are those of assembly/call.ts, each four bytes wide.
import { type HeapBlocks, type MemoryWords, wordsOf } from '@polyhead/core/kernel';
import { structures } from './compiled';

type Structures = typeof structures;
type FieldsOf<Name extends keyof Structures> = { readonly [field in keyof Structures[Name]]: number };

/** Where the fields of a structure are, in words from its start, and how many it has. */
interface Layout {
  readonly words: number;
  readonly fields: { readonly [field: string]: { readonly word: number; readonly isFloat: boolean } };
}

const layouts = Object.fromEntries(
  Object.entries(structures).map(([name, types]) => {
    const entries = Object.entries(types).map(
      ([field, type], word) => [field, { word, isFloat: (type as string) === 'f32' }] as const,
    );
    return [name, { words: entries.length, fields: Object.fromEntries(entries) }];
  }),
) as unknown as Readonly<Record<keyof Structures, Layout>>;

/** From one structure to the next. */
export function bytesOf(name: keyof Structures): number {
  return layouts[name].words * 4;
}

function writeFields(
  { ints, floats }: MemoryWords,
  from: number,
  { fields }: Layout,
  values: { readonly [field: string]: number },
): void {
  for (const name in values) {
    const { word, isFloat } = fields[name]!;
    if (isFloat) floats[from + word] = values[name]!;
    else ints[from + word] = values[name]!;
  }
}

/** Writes structures that follow each other. @returns the address of the first */
export function writeAll<Name extends keyof Structures>(
  blocks: HeapBlocks,
  name: Name,
  all: readonly FieldsOf<Name>[],
): number {
  const layout = layouts[name];
  const address = blocks.reserve(all.length * layout.words * 4);
  const words = wordsOf(blocks.memory);
  for (let n = 0; n < all.length; n++) writeFields(words, address / 4 + n * layout.words, layout, all[n]!);
  return address;
}

/** Writes one structure, whose fields come in parts: where one is in several the last holds, and what is in none is 0. */
export function writeParts<Name extends keyof Structures>(
  blocks: HeapBlocks,
  name: Name,
  parts: readonly (Partial<FieldsOf<Name>> | undefined)[],
): number {
  const layout = layouts[name];
  const address = blocks.reserve(layout.words * 4);
  const words = wordsOf(blocks.memory);
  words.ints.fill(0, address / 4, address / 4 + layout.words);
  for (const part of parts) if (part) writeFields(words, address / 4, layout, part as FieldsOf<Name>);
  return address;
}
