// JSON from outside, which may be anything.
import { readFileSync, statSync } from 'node:fs';
import { UsageError } from '../command-line/errors';
import { formatBytes } from '../print/byte-size';

export type Json = { readonly [name: string]: unknown };

/** What is expected of a file: more bytes are not read. */
export interface JsonKind {
  readonly most: number;
  /** What it should be, and how large that is. */
  readonly usual: string;
  /** What to give instead of a folder. */
  readonly insteadOfFolder: string;
}

const configJson: JsonKind = {
  most: 2 ** 20,
  usual: 'a config.json has a few KiB',
  insteadOfFolder: 'the path of the config.json in it',
};

/** @throws UsageError unless the file can be read, is small, and holds an object */
export function readJsonObject(path: string, kind: JsonKind = configJson): Json {
  const text = readSmallFile(path, kind);
  let json: unknown;
  try {
    json = JSON.parse(withoutPythonNumbers(text));
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${printable((error as Error).message)}`);
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json;
  throw new UsageError(`${path} holds no JSON object, but ${shown(json)}`);
}

function readSmallFile(path: string, { most, usual, insteadOfFolder }: JsonKind): string {
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) throw new UsageError(`${path} is a folder: give ${insteadOfFolder}`);
    if (!stats.isFile()) throw new UsageError(`${path} is no file`);
    if (stats.size > most) throw new UsageError(`${path} has ${formatBytes(stats.size)}: ${usual}`);
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

/** Python writes NaN and infinities as words, which JSON doesn't know: all become infinite, which nothing takes for a size. */
const withoutPythonNumbers = (text: string) =>
  text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/gs, (word) =>
    word.startsWith('"') ? word : '1e999',
  );

/** True for a name of the object's own, whatever it is, that has a value. */
export function has(json: Json, name: string): boolean {
  return Object.hasOwn(json, name) && json[name] !== null;
}

/** A value as JSON, its beginning where it is long. */
export function shown(value: unknown): string {
  const text = printable(typeof value === 'number' ? `${value}` : jsonOf(value));
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}

/** V8 reads values nested as deep as a file may be, but cannot write them. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'values too deep within each other';
  }
}

/** Escapes of a file must not reach the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, '�');
}

/** The value as JSON whose text a terminal can show: what would command it, or turn the order of letters, is escaped. */
export const jsonText = (value: object): string =>
  `${JSON.stringify(value, undefined, 2).replace(/[^\P{C}\n]/gu, escaped)}\n`;

const escaped = (letter: string) =>
  Array.from(
    { length: letter.length },
    (_, n) => `\\u${letter.charCodeAt(n).toString(16).padStart(4, '0')}`,
  ).join('');
