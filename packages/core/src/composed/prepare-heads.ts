// Queries, keys and values as the blocks use them: scaled, and without what a row that does not count could spoil.
import * as tf from '@tensorflow/tfjs-core';
import { allBounded, allFinite } from '../backend/finite';
import { backendTraits } from '../backend/traits';
import type { CallSizes, KernelCall } from '../contract/kernel';
import type { ResultGradients } from './formula';
import { type Heads, withoutMaskedRows } from './masked-rows';
import { isUsed } from './non-finite';
import type { Differentiable } from './prepare';

/** Queries times scale, keys and values. */
export interface PreparedHeads extends Heads {
  /** Some row that counts is not finite, or may overflow in a product, and must not spoil rows that do not see it. */
  readonly needsCare: boolean;
}

interface Circumstances {
  readonly sizes: CallSizes;
  /** All that is added to scores, where it may hide pairs. */
  readonly hidingBiases: () => readonly tf.Tensor4D[];
  readonly biasIsFinite: boolean;
  /** Of the results, in the backward pass. */
  readonly gradients?: ResultGradients | undefined;
}

/** Where every number is known to be finite and small enough, nothing is done but to scale. */
export function prepareHeads(
  { plan, scale }: KernelCall,
  inputs: Differentiable,
  { sizes, hidingBiases, biasIsFinite, gradients }: Circumstances,
): PreparedHeads {
  const { query, key, value, keyTableQuery } = inputs;
  const heads: Heads = {
    query: tf.mul(query, scale),
    key,
    value,
    ...(keyTableQuery && { keyTableQuery: tf.mul(keyTableQuery, scale) }),
  };
  const everyRowCounts = plan.full && biasIsFinite && sizes.Skv > 0;
  if (everyRowCounts && !gradients) return { ...heads, needsCare: false };
  const others = [...tablesOfProducts(inputs, scale), ...(gradients ? [gradients.output] : [])];
  const othersAreBounded = others.every(allBounded) && (!gradients || logitsCanOnlyHide(inputs));
  if (isBounded(heads)) return { ...heads, needsCare: !othersAreBounded && backendTraits().synchronousRead };
  const counted = withoutMaskedRows(heads, {
    plan,
    biases: biasIsFinite ? [] : hidingBiases(),
    used: gradients && isUsed(gradients),
  });
  const needsCare = backendTraits().synchronousRead && !(othersAreBounded && isBounded(counted));
  return { ...counted, needsCare };
}

function isBounded({ query, key, value, keyTableQuery }: Heads): boolean {
  return [query, key, value, keyTableQuery].every((x) => x === undefined || allBounded(x));
}

function tablesOfProducts({ keyTable, queryTable, valueTable }: Differentiable, scale: number): tf.Tensor[] {
  const scaled = queryTable && tf.mul(queryTable, scale);
  return [keyTable, scaled, valueTable].filter((table): table is tf.Tensor => table !== undefined);
}

/** False where a bias or sink may be NaN or Infinity, and so spoil the gradients of rows that the loss does not use. */
function logitsCanOnlyHide({ bias, biasTable, sinkLogits }: Differentiable): boolean {
  const logits = [bias, biasTable, sinkLogits].filter((x): x is NonNullable<typeof x> => x !== undefined);
  if (!backendTraits().synchronousRead) return false;
  return logits.every((x) => allFinite(x) || x.dataSync().every((number) => number < Infinity));
}
