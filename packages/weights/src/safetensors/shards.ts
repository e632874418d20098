// A checkpoint in several safetensors files, and the index that says which tensor lies in which:
// `{ "metadata": …, "weight_map": { "lm_head.weight": "model-00002-of-00002.safetensors" } }`.
import { type Checkpoint, storedTensor } from '../checkpoint';
import { FileError } from '../errors';
import type { FileLike } from '../files/byte-source';
import { readSafetensorsFile } from './read-file';

/** The index of a checkpoint in several files, parsed: `model.safetensors.index.json`. */
export interface SafetensorsIndex {
  /** File names by tensor names. */
  readonly weight_map: { readonly [tensor: string]: string };
  /** What the checkpoint says of itself. */
  readonly metadata?: { readonly [name: string]: unknown } | undefined;
}

/** Opens a file of an index, given its name. */
export type OpenShard = (name: string) => FileLike | Promise<FileLike>;

const where = 'readSafetensors';

/** @throws FileError for an index that is none, or does not fit its files */
export async function readShards(
  index: SafetensorsIndex,
  openShard: OpenShard | undefined,
): Promise<Checkpoint> {
  const { weight_map: map, metadata = {} } = index;
  if (typeof map !== 'object' || map === null || typeof openShard !== 'function')
    throw new FileError(
      where,
      'an index must have a weight_map, and come with a function that opens a file by its name',
      {
        index,
        openShard,
      },
    );
  const shards = new Map<string, Checkpoint>();
  for (const name of new Set(Object.values(map))) {
    checkFileName(name);
    shards.set(name, await readSafetensorsFile(await openShard(name)));
  }
  const shardOf = (tensor: string) => {
    const shard = shards.get(map[tensor]!)!;
    if (!shard.tensors.has(tensor))
      throw new FileError(where, 'each file must hold the tensors that the index says', {
        tensor,
        file: map[tensor],
      });
    return shard;
  };
  const placed = new Map(Object.keys(map).map((tensor) => [tensor, shardOf(tensor)] as const));
  return {
    format: 'safetensors',
    metadata: new Map(Object.entries(metadata)),
    tensors: new Map([...placed].map(([name, shard]) => [name, shard.tensors.get(name)!] as const)),
    read: async (name) => storedTensor(placed, name).read(name),
    readBytes: async (name) => storedTensor(placed, name).readBytes(name),
  };
}

/** An index is as untrusted as any file: it must not lead out of its folder. */
function checkFileName(name: unknown): void {
  const isPlain = typeof name === 'string' && /^[^/\\:]+$/.test(name) && !/^\.*$/.test(name);
  if (!isPlain)
    throw new FileError(where, 'files of an index must be names without a folder', { file: name });
}
