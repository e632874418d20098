// A checkpoint of PyTorch, as `torch.save` writes it since version 1.6: a zip file of a pickle, `data.pkl`, and one entry for each
// storage, `data/KEY`, of numbers as they lie (https://docs.pytorch.org/docs/stable/notes/serialization.html).
import { type Checkpoint, decode, storedTensor, type TensorFacts } from '../checkpoint';
import { FileError } from '../errors';
import { type FileLike, openSource } from '../files/byte-source';
import { gather, sizeOf } from '../load/strided';
import { flatten } from './flatten';
import { isContiguous, Storage, StorageType, type TorchTensor } from './rebuild';
import { unpickle } from './unpickle';
import { readDirectory, readEntryBytes, type ZipEntry } from './zip';

const where = 'readTorch';
const longestPickle = 100_000_000;

/**
 * Opens a checkpoint of PyTorch: a state dict, or anything that dictionaries, lists, numbers, texts and tensors make up. Names
 * in nested dictionaries are joined by points: "state_dict.encoder.weight". What is no tensor is in `metadata`.
 *
 * A pickle is a program, but nothing of it is run here: all that it may ask for are dictionaries and tensors.
 *
 * @throws FileError for a file that is broken, or of another format
 * @throws UnsupportedError for compressed entries, and pickles that ask for anything else, such as whole modules
 */
export async function readTorch(file: FileLike): Promise<Checkpoint> {
  const source = await openSource(where, file);
  const entries = await readDirectory(source);
  const pickle = [...entries.keys()].find(
    (name) => name.endsWith('/data.pkl') && name.split('/').length === 2,
  );
  if (pickle === undefined)
    throw new FileError(where, 'the zip must hold a data.pkl in its folder', {
      entries: [...entries.keys()],
    });
  const folder = pickle.slice(0, -'data.pkl'.length);
  const entry = entries.get(pickle)!;
  if (entry.byteLength > longestPickle)
    throw new FileError(where, 'data.pkl must have at most 100 MB', { bytes: entry.byteLength });
  // It holds "little" or "big".
  const byteOrder = entries.get(`${folder}byteorder`);
  if (byteOrder && byteOrder.byteLength !== 'little'.length)
    throw new FileError(where, 'numbers must be little-endian', { bytes: byteOrder.byteLength });
  const root = unpickle(await readEntryBytes(source, entry), (id) => storageOf(id, entries, folder));
  const { tensors, metadata } = flatten(root, entry.byteLength);
  const bytesOf = (tensor: TorchTensor) => {
    const { storage, offset, extent } = tensor;
    const { blockBytes } = storage.type.numberType;
    return readEntryBytes(source, storage.entry, [offset * blockBytes, extent * blockBytes]);
  };
  return {
    format: 'torch',
    metadata,
    tensors: new Map([...tensors].map(([name, tensor]) => [name, factsOf(tensor)] as const)),
    async readBytes(name) {
      const tensor = storedTensor(tensors, name);
      if (isContiguous(tensor)) return bytesOf(tensor);
      const { shape, strides } = tensor;
      throw new FileError('readBytes', `${name} must lie row by row; read gives its numbers`, {
        shape,
        strides,
      });
    },
    async read(name) {
      const tensor = storedTensor(tensors, name);
      const numbers = decode(name, tensor.storage.type.numberType, await bytesOf(tensor));
      return isContiguous(tensor) ? numbers : gather(numbers, { ...tensor, offset: 0 });
    },
  };
}

/** @param id what stands for a storage: ("storage", its type, its key, where it was, how many numbers it holds) */
function storageOf(id: unknown, entries: ReadonlyMap<string, ZipEntry>, folder: string): Storage {
  const [kind, type, key, , count] = Array.isArray(id) ? id : [];
  const isFine =
    kind === 'storage' &&
    type instanceof StorageType &&
    typeof key === 'string' &&
    Number.isSafeInteger(count);
  if (!isFine) throw new FileError(where, 'a storage must have a type, a key and a size', { key, count });
  const entry = entries.get(`${folder}data/${key}`);
  if (!entry || count < 0 || !(count * type.numberType.blockBytes <= entry.byteLength))
    throw new FileError(where, `data/${key} must hold the numbers of its storage`, {
      type: type.name,
      count,
      bytes: entry?.byteLength ?? 'missing',
    });
  return new Storage(type, entry, count);
}

function factsOf({ shape, storage: { type } }: TorchTensor): TensorFacts {
  return { shape, type: type.type, byteLength: sizeOf(shape) * type.numberType.blockBytes };
}
