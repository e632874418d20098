// Values of command line options. A wrong one is answered with those that would do.
import { InvalidArgumentError } from 'commander';
import { type ByteSize, parseBytes } from '../print/byte-size';
import { count } from '../print/format-number';

type Parser<T> = (text: string) => T;

/** One of these. */
export function oneOf<T extends string | number>(valid: readonly T[]): Parser<T> {
  return (text) => {
    const choice = valid.find((value) => `${value}` === text);
    if (choice === undefined) throw new InvalidArgumentError(`Allowed choices are ${valid.join(', ')}.`);
    return choice;
  };
}

/** A whole number in these bounds, in plain digits. */
export function wholeNumber(from: number, to: number): Parser<number> {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= from && number <= to) return number;
    throw new InvalidArgumentError(`Allowed are whole numbers from ${count(from)} to ${count(to)}.`);
  };
}

/** A size with its unit. */
export const byteSize: Parser<ByteSize> = (text) => {
  const bytes = parseBytes(text);
  if (bytes !== undefined) return { text: text.trim(), bytes };
  throw new InvalidArgumentError(
    'Allowed are sizes with their unit, such as 8GB (10^9 bytes) or 512MiB (2^20).',
  );
};

/** Several, with commas between them, or the option given several times. Each counts once, in the order given. */
export function listOf<T>(parse: Parser<T>): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [
    ...new Set([...before, ...text.split(',').map((part) => parse(part.trim()))]),
  ];
}
