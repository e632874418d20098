// The only place where the shapes of a call's inputs are judged.
import { ShapeError } from '../contract/errors';
import type { AttentionInputs, CallSizes, NamedTensors } from '../contract/kernel';
import { checkStored, storedFacts } from './check-stored';
import { checkTensor, checkTensors } from './check-tensor';

type TensorInputs = Extract<AttentionInputs, { key: object }>;

type Shape4 = [number, number, number, number];

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
  const facts = () =>
    stored ? { query, ...storedFacts(stored) } : { query, key: inputs.key, value: inputs.value };
  checkTensor(where, 'query', query, ['[B, Hq, Sq, D]', facts]);
  const [B, Hq, Sq, D] = query.shape as Shape4;
  const sizes = stored ? checkStored(where, stored) : tensorSizes(where, inputs);
  const { batch, heads: Hkv, Skv, keySize, Dv } = sizes;
  checkState(where, inputs.state);
  const refuse = (rule: string) => {
    throw new ShapeError(where, rule, facts());
  };
  if (batch !== B) refuse('query and key must have the same batch');
  if (keySize !== D) refuse('query and key must have the same head size');
  if (Hkv === 0 || Hq % Hkv !== 0) refuse('query heads must be a multiple of key/value heads');
  if (D === 0 || Dv === 0) refuse('the head sizes of query, key and value must be at least 1');
  return { B, Hq, Hkv, Sq, Skv, D, Dv };
}

function tensorSizes(where: string, { query, key, value }: TensorInputs) {
  const facts = () => ({ query, key, value });
  checkTensor(where, 'key', key, ['[B, Hkv, Skv, D]', facts]);
  checkTensor(where, 'value', value, ['[B, Hkv, Skv, Dv]', facts]);
  const [batch, heads, Skv, keySize] = key.shape as Shape4;
  if (value.shape[1] !== heads) {
    const rule = 'value must have as many heads as key: where one has fewer, repeat its heads';
    throw new ShapeError(where, rule, facts());
  }
  if (value.shape.slice(0, 3).some((size, i) => size !== key.shape[i])) {
    throw new ShapeError(where, 'value must have the batch, heads and length of key', facts());
  }
  return { batch, heads, Skv, keySize, Dv: value.shape[3]! };
}

function checkState(where: string, state: NamedTensors | undefined): void {
  if (state !== undefined) checkTensors(where, 'inputs.state', state);
}
