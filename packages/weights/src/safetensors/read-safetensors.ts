// The door to safetensors: one file, or several with an index.
import type { Checkpoint } from '../checkpoint';
import type { FileLike } from '../files/byte-source';
import { readSafetensorsFile } from './read-file';
import { type OpenShard, readShards, type SafetensorsIndex } from './shards';

/**
 * Opens a safetensors file, or all files of an index.
 *
 * @param file the file; or the index, parsed
 * @param openShard where `file` is an index: opens one of its files, given its name
 * @throws FileError for a file that is broken, or of another format
 *
 * @example
 * const checkpoint = await readSafetensors(await open('model.safetensors'));
 * const sharded = await readSafetensors(index, (name) => open(`folder/${name}`));
 */
export async function readSafetensors(
  file: FileLike | SafetensorsIndex,
  openShard?: OpenShard,
): Promise<Checkpoint> {
  const isIndex = typeof file === 'object' && file !== null && 'weight_map' in file;
  return isIndex ? readShards(file, openShard) : readSafetensorsFile(file);
}
