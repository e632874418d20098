// safetensors (https://huggingface.co/docs/safetensors): the length of the header, 8 bytes; the header, JSON with type, shape
// and place of each tensor; then the numbers, without a gap.
import { type Checkpoint, openCheckpoint, type StoredTensor } from '../checkpoint';
import { FileError } from '../errors';
import { type FileLike, openSource } from '../files/byte-source';
import { isPlainType, plainType, plainTypeNames } from '../files/number-types';

const where = 'readSafetensors';
/** What the format allows. */
const longestHeader = 100_000_000;

type Place = Omit<StoredTensor, 'start'> & { readonly offsets: readonly [number, number] };

/**
 * Opens one file.
 *
 * @throws FileError for a file that is broken, or of another format
 */
export async function readSafetensorsFile(file: FileLike): Promise<Checkpoint> {
  const source = await openSource(where, file);
  if (source.size < 8) throw new FileError(where, 'a file must have 8 bytes at least', { size: source.size });
  const length = new DataView((await source.readBytes(0, 8)).buffer).getBigUint64(0, true);
  if (length > longestHeader || Number(length) > source.size - 8)
    throw new FileError(where, 'the header must lie within the file, and have at most 100 MB', {
      header: length,
      'file size': source.size,
    });
  const start = 8 + Number(length);
  const header = parseHeader(await source.readBytes(8, Number(length)));
  const { __metadata__: metadata, ...entries } = header;
  const places = Object.entries(entries).map(([name, entry]) => [name, placeOf(name, entry)] as const);
  checkCover(places, source.size - start);
  const tensors = places.map(
    ([name, { offsets, ...facts }]) => [name, { ...facts, start: start + offsets[0] }] as const,
  );
  return openCheckpoint(source, {
    format: 'safetensors',
    metadata: new Map(Object.entries(metadataOf(metadata))),
    tensors: new Map(tensors),
  });
}

function parseHeader(bytes: Uint8Array): Record<string, unknown> {
  const parsed = parseJson(bytes);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
    return parsed as Record<string, unknown>;
  throw new FileError(where, 'the header must be a JSON object: is the file a safetensors file?', {});
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function metadataOf(metadata: unknown): object {
  if (metadata === undefined) return {};
  const isTexts =
    typeof metadata === 'object' &&
    metadata !== null &&
    Object.values(metadata).every((value) => typeof value === 'string');
  if (!isTexts) throw new FileError(where, '__metadata__ must hold texts by name', { metadata });
  return metadata;
}

function placeOf(name: string, entry: unknown): Place {
  const { dtype: type, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  const fail = (rule: string) =>
    new FileError(where, `${name}: ${rule}`, { dtype: type, shape, data_offsets: offsets });
  if (!isPlainType(type)) throw fail(`dtype must be one of ${plainTypeNames().join(', ')}`);
  if (!isSizes(shape)) throw fail('shape must be sizes');
  if (!isSizes(offsets) || offsets.length !== 2) throw fail('data_offsets must be two places');
  const numberType = plainType(type);
  const byteLength = shape.reduce((size, n) => size * n, numberType.blockBytes);
  if (!Number.isSafeInteger(byteLength) || offsets[1]! - offsets[0]! !== byteLength)
    throw fail('data_offsets must enclose the numbers of the shape');
  return { type, shape, byteLength, numberType, offsets: [offsets[0]!, offsets[1]!] };
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** Every byte behind the header belongs to one tensor. */
function checkCover(places: readonly (readonly [string, Place])[], size: number): void {
  const inOrder = [...places].sort(
    ([, a], [, b]) => a.offsets[0] - b.offsets[0] || a.offsets[1] - b.offsets[1],
  );
  let end = 0;
  for (const [name, { offsets }] of inOrder) {
    if (offsets[0] !== end)
      throw new FileError(where, `${name}: tensors must lie side by side`, {
        data_offsets: offsets,
        'free from': end,
      });
    end = offsets[1];
  }
  if (end !== size)
    throw new FileError(where, 'tensors must fill the file: it is cut, or too long', {
      tensors: end,
      bytes: size,
    });
}
