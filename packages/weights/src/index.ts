export type { Checkpoint, TensorFacts } from './checkpoint';
export { FileError } from './errors';
export type { ByteSource, FileLike, OpenFile } from './files/byte-source';
export { type LoadOptions, type LoadReport, loadWeights, type NamedVariables } from './load/load-weights';
export { readSafetensors } from './safetensors/read-safetensors';
