// Nested dictionaries and lists of a checkpoint as one list of names.
import { FileError } from '../errors';
import { TorchTensor } from './rebuild';
import type { TorchValue } from './unpickle';

const deepest = 32;

/**
 * A pickle may name one dictionary many times, and so describe far more than it holds, or itself: what is walked is bounded by its
 * own length.
 *
 * @param pickleLength in bytes
 * @throws FileError for what is deeper, longer, or has a name twice
 */
export function flatten(root: TorchValue, pickleLength: number) {
  const tensors = new Map<string, TorchTensor>();
  const metadata = new Map<string, unknown>();
  let [values, characters] = [0, 0];
  const walk = (value: TorchValue, name: string, depth: number): void => {
    values += 1;
    characters += name.length;
    if (depth > deepest || values > pickleLength || characters > 16 * pickleLength)
      throw new FileError(
        'readTorch',
        `dictionaries must nest at most ${deepest} deep, and none come up too often`,
        {
          name: name.slice(0, 80),
          depth,
        },
      );
    if (value instanceof Map || Array.isArray(value)) {
      for (const [key, inner] of value.entries())
        walk(inner, name === '' ? `${keyText(key)}` : `${name}.${keyText(key)}`, depth + 1);
      return;
    }
    const [list, entry] = value instanceof TorchTensor ? [tensors, value] : [metadata, value];
    if (tensors.has(name) || metadata.has(name))
      throw new FileError('readTorch', 'each name must be there once', { name });
    (list as Map<string, unknown>).set(name, entry);
  };
  walk(root, '', 0);
  return { tensors, metadata } as {
    tensors: ReadonlyMap<string, TorchTensor>;
    metadata: ReadonlyMap<string, unknown>;
  };
}

function keyText(key: unknown): string {
  if (typeof key === 'string' || typeof key === 'number') return `${key}`;
  throw new FileError('readTorch', 'keys of dictionaries must be texts or numbers', { key });
}
