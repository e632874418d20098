// Sizes in bytes, written and read.

/** A size as it was given. */
export interface ByteSize {
  readonly text: string;
  readonly bytes: number;
}

const binaryUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** In the largest unit of which there is one, with three digits, or all of a whole number. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10);
  const unit = Math.min(power, binaryUnits.length - 1);
  const size = bytes / 1024 ** unit;
  const digits = Number.isInteger(size) ? 0 : Math.max(0, 3 - Math.floor(size).toString().length);
  const written = size.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${written} ${binaryUnits[unit]}`;
}

/** Bytes of a size with its unit, such as `8GB`, `512 MiB` or `1.5gib`; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const [, number, prefix, binary] = /^(\d+(?:\.\d+)?) ?([kmgt])(i?)b$/i.exec(text.trim()) ?? [];
  if (number === undefined || prefix === undefined) return undefined;
  const power = 'kmgt'.indexOf(prefix.toLowerCase()) + 1;
  return Math.floor(Number(number) * (binary ? 1024 : 1000) ** power);
}
