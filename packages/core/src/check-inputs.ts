// The only place where shapes, dtypes and options of a call are judged.
import * as tf from '@tensorflow/tfjs-core';
import { checkNumber, checkRate, checkSoftcap } from './check-config';
import { ConfigError, ShapeError } from './errors';
import type { AttendOptions, AttentionInputs } from './kernel';

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

/**
 * The sizes of the inputs.
 *
 * @throws ShapeError where they disagree, are not float32, or are disposed; it names the argument and shows all shapes
 */
export function checkInputs(where: string, inputs: AttentionInputs): CallSizes {
  checkTensor(where, 'query', inputs.query, '[B, Hq, Sq, D]');
  const [B, Hq, Sq, D] = inputs.query.shape;
  const sizes = inputs.stored ? storedSizes(inputs) : tensorSizes(where, inputs);
  const facts = inputs.stored ? { query: inputs.query, stored: sizes } : { ...inputs };
  const { batch, heads: Hkv, Skv, keySize, Dv } = sizes;
  const rules: [boolean, string][] = [
    [batch === B, 'query and key must have the same batch'],
    [keySize === D, 'query and key must have the same head size'],
    [Hkv > 0 && Hq % Hkv === 0, 'query heads must be a multiple of key/value heads'],
    [D > 0, 'the head size must be at least 1'],
  ];
  for (const [holds, rule] of rules) if (!holds) throw new ShapeError(where, rule, facts);
  return { B, Hq, Hkv, Sq, Skv, D, Dv };
}

function storedSizes({ stored }: AttentionInputs & { stored: object }) {
  const { heads, keySize, valueSize, lengths } = stored;
  return { batch: lengths.length, heads, Skv: Math.max(0, ...lengths), keySize, Dv: valueSize };
}

function tensorSizes(where: string, { query, key, value }: Exclude<AttentionInputs, { stored: object }>) {
  checkTensor(where, 'key', key, '[B, Hkv, Skv, D]');
  checkTensor(where, 'value', value, '[B, Hkv, Skv, Dv]');
  const [batch, heads, Skv, keySize] = key.shape;
  if (value.shape.slice(0, 3).some((size, i) => size !== key.shape[i])) {
    throw new ShapeError(where, 'value must have the batch, heads and length of key', { query, key, value });
  }
  return { batch, heads, Skv, keySize, Dv: value.shape[3] };
}

/** @throws ShapeError unless it is a living float32 tensor of rank 4, or of the rank of `shape` */
export function checkTensor(where: string, name: string, tensor: tf.Tensor, shape: string): void {
  const rank = shape.split(',').length;
  const facts = { [name]: tensor };
  if (!(tensor instanceof tf.Tensor)) throw new ShapeError(where, `${name} must be a tensor ${shape}`, facts);
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, facts);
  if (tensor.rank !== rank) throw new ShapeError(where, `${name} must have rank ${rank}: ${shape}`, facts);
  if (tensor.dtype !== 'float32') throw new ShapeError(where, `${name} must be float32`, facts);
}

/** @throws ShapeError or ConfigError, naming the option */
export function checkOptions(where: string, options: AttendOptions, sizes: CallSizes): void {
  const { scale, softcap, dropout, bias, sinkLogits, returns, queryStart } = options;
  const { B, Hq, Sq, Skv } = sizes;
  if (scale !== undefined) checkNumber(where, 'scale', scale, [() => true, 'a finite number']);
  if (softcap !== undefined && softcap !== null) checkSoftcap(where, softcap);
  if (dropout) {
    checkRate(where, 'dropout.rate', dropout.rate);
    checkNumber(where, 'dropout.seed', dropout.seed, [Number.isInteger, 'a whole number']);
  }
  if (bias) checkBias(where, bias, [B, Hq, Sq, Skv]);
  if (sinkLogits) {
    checkTensor(where, 'sinkLogits', sinkLogits, '[Hq]');
    if (sinkLogits.shape[0] !== Hq) {
      throw new ShapeError(where, 'sinkLogits must have one number for each query head', { sinkLogits, Hq });
    }
  }
  const unknown = returns?.find((name) => name !== 'weights' && name !== 'logSumExp');
  if (unknown) throw new ConfigError(where, "returns may name 'weights' and 'logSumExp'", { returns });
  if (queryStart !== undefined) checkQueryStart(where, queryStart, B);
}

function checkBias(where: string, bias: tf.Tensor4D, wanted: readonly number[]): void {
  checkTensor(where, 'bias', bias, '[B, Hq, Sq, Skv]');
  if (bias.shape.every((size, i) => size === 1 || size === wanted[i])) return;
  throw new ShapeError(where, 'bias must broadcast to [B, Hq, Sq, Skv]', {
    bias,
    '[B, Hq, Sq, Skv]': wanted,
  });
}

function checkQueryStart(where: string, queryStart: number | readonly number[], B: number): void {
  const starts = typeof queryStart === 'number' ? [queryStart] : queryStart;
  if (!starts.every(Number.isInteger)) {
    throw new ConfigError(where, 'queryStart must be whole numbers', { queryStart });
  }
  if (typeof queryStart === 'number' || starts.length === B || starts.length === 1) return;
  throw new ShapeError(where, 'queryStart must have one number for each batch entry', { queryStart, B });
}
