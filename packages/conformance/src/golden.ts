// Golden vectors: what other people's attention gave on small inputs. Each file names its source and version.
import type { HostTensor } from './oracle';

interface StoredTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly data: readonly (number | string)[]; // non-finite numbers are words
}

interface StoredCase {
  readonly name: string;
  readonly params: object;
  readonly inputs: { readonly [name: string]: StoredTensor };
  readonly outputs: { readonly [name: string]: StoredTensor };
}

/** A fixture file as it is stored. */
export interface GoldenFile {
  readonly family: string;
  readonly source: string;
  readonly cases: readonly StoredCase[];
}

/** Numbers of a case; `dtype` tells a boolean mask from an additive one. */
export interface GoldenTensor extends HostTensor {
  readonly dtype: string;
}

type GoldenTensors = { readonly [name: string]: GoldenTensor };

export interface GoldenCase<Params> {
  readonly name: string;
  readonly params: Params;
  readonly inputs: GoldenTensors;
  readonly outputs: GoldenTensors;
}

/** The cases of one fixture file, by name. `Params` is what the file's cases say of themselves. */
export function goldenCases<Params>(file: unknown): ReadonlyMap<string, GoldenCase<Params>> {
  const { cases } = file as GoldenFile;
  return new Map(
    cases.map(({ name, params, inputs, outputs }) => [
      name,
      { name, params: params as Params, inputs: goldenTensors(inputs), outputs: goldenTensors(outputs) },
    ]),
  );
}

/** One tensor of a case; a name the case does not have is an error, so that no comparison is empty. */
export function golden(tensors: GoldenTensors, name: string): GoldenTensor {
  const tensor = tensors[name];
  if (!tensor) throw new Error(`golden: no "${name}" among ${Object.keys(tensors).join(', ')}`);
  return tensor;
}

function goldenTensors(stored: { readonly [name: string]: StoredTensor }): GoldenTensors {
  return Object.fromEntries(
    Object.entries(stored).map(([name, { data, ...rest }]) => [
      name,
      { ...rest, data: Float64Array.from(data, toNumber) },
    ]),
  );
}

const words: { readonly [word: string]: number } = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
};

function toNumber(stored: number | string): number {
  if (typeof stored === 'number') return stored;
  const word = words[stored];
  if (word === undefined) throw new Error(`golden: "${stored}" is not a number`);
  return word;
}
