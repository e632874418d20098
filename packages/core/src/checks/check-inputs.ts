// The only place where the shapes of a call's inputs are judged.

import { ConfigError, ShapeError } from '../contract/errors';
import type { AttentionInputs } from '../contract/kernel';
import type { StoredKeyValue } from '../contract/key-value-cache';
import { checkTensor } from './check-tensor';

/** The sizes of a call, in the letters of the documents. */
export interface CallSizes {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
  readonly Dv: number;
}

type TensorInputs = Exclude<AttentionInputs, { stored: object }>;

/**
 * The sizes of the inputs.
 *
 * @throws ShapeError where they disagree, are not float32, or are disposed; it names the argument and shows all shapes
 */
export function checkInputs(where: string, inputs: AttentionInputs): CallSizes {
  if (typeof inputs !== 'object' || inputs === null) {
    throw new ShapeError(where, 'inputs must be { query, key, value }, or { query, stored }', { inputs });
  }
  const { query, stored } = inputs;
  const facts = stored ? { query, ...storedFacts(stored) } : { query, key: inputs.key, value: inputs.value };
  checkTensor(where, 'query', query, ['[B, Hq, Sq, D]', facts]);
  const [B, Hq, Sq, D] = query.shape;
  const sizes = stored ? storedSizes(where, stored) : tensorSizes(where, inputs);
  const { batch, heads: Hkv, Skv, keySize, Dv } = sizes;
  const rules: [boolean, string][] = [
    [batch === B, 'query and key must have the same batch'],
    [keySize === D, 'query and key must have the same head size'],
    [Hkv > 0 && Hq % Hkv === 0, 'query heads must be a multiple of key/value heads'],
    [D > 0 && Dv > 0, 'the head sizes of query, key and value must be at least 1'],
  ];
  for (const [holds, rule] of rules) if (!holds) throw new ShapeError(where, rule, facts);
  return { B, Hq, Hkv, Sq, Skv, D, Dv };
}

function tensorSizes(where: string, { query, key, value }: TensorInputs) {
  const facts = { query, key, value };
  checkTensor(where, 'key', key, ['[B, Hkv, Skv, D]', facts]);
  checkTensor(where, 'value', value, ['[B, Hkv, Skv, Dv]', facts]);
  const [batch, heads, Skv, keySize] = key.shape;
  if (value.shape.slice(0, 3).some((size, i) => size !== key.shape[i])) {
    throw new ShapeError(where, 'value must have the batch, heads and length of key', facts);
  }
  return { batch, heads, Skv, keySize, Dv: value.shape[3] };
}

function storedSizes(where: string, stored: StoredKeyValue) {
  const { heads, keySize, valueSize, lengths } = stored;
  const isCount = (x: unknown) => Number.isInteger(x) && (x as number) >= 0;
  if (
    typeof stored.materialize !== 'function' ||
    !Array.isArray(lengths) ||
    ![heads, keySize, valueSize].every(isCount)
  ) {
    throw new ConfigError(where, 'stored must be a StoredKeyValue, as a cache stages and reads it', {
      stored,
    });
  }
  if (!lengths.every(isCount)) {
    throw new ShapeError(
      where,
      'the lengths of stored rows must be whole numbers of at least 0',
      storedFacts(stored),
    );
  }
  return { batch: lengths.length, heads, Skv: Math.max(0, ...lengths), keySize, Dv: valueSize };
}

function storedFacts({ heads, keySize, valueSize, lengths }: StoredKeyValue) {
  return {
    'stored heads': heads,
    'stored key size': keySize,
    'stored value size': valueSize,
    'stored lengths': lengths,
  };
}

/**
 * The keys and values that a storage gives, which must be as it has said.
 *
 * @throws ShapeError where their shapes are others
 */
export function materialized(where: string, stored: StoredKeyValue): Pick<TensorInputs, 'key' | 'value'> {
  const rows = stored.materialize();
  const { heads, keySize, valueSize, lengths } = stored;
  const wanted = [lengths.length, heads, Math.max(0, ...lengths)];
  for (const [name, size] of [
    ['key', keySize],
    ['value', valueSize],
  ] as const) {
    const shape = [...wanted, size];
    checkTensor(where, `the materialized ${name}`, rows[name], ['[B, Hkv, S, D]']);
    if (`${rows[name].shape}` === `${shape}`) continue;
    throw new ShapeError(where, `the materialized ${name} must have the sizes of the storage`, {
      [name]: rows[name],
      'sizes of the storage': shape,
    });
  }
  return rows;
}
