// Checks of tables looked up by distance: each kind gives the oracle's results and gradients.
import type { AttentionKernel, Positions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { attentionCase } from '../attention-case';
import type { Refusable } from '../cases';
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { centralDifferences, weightedSum } from '../gradients';
import { randomTensor, seededRandom } from '../inputs';
import { attendWith, read, readAll, toTensor, toTensors } from '../kernel-run';
import { attentionOracle, type OracleInputs } from '../oracle';
import { oracleTables, randomTables, relativeKinds, tensorTables } from '../relative-tables';
import { expectRefused } from './refusals';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 4, Skv: 5, D: 3, Dv: 6 };

// Queries where they are given, out of order; keys counted from another place in each batch entry.
const queryPlaces = Int32Array.of(3, 0, 7, 2);
const keyStarts = [1, -1];
const somewhere: Positions = { query: { each: queryPlaces }, key: { start: keyStarts } };

export function relativeChecks(
  kernelOf: () => AttentionKernel,
  refused: readonly Refusable[],
): readonly Check[] {
  if (refused.includes('relative')) {
    return Object.keys(relativeKinds).map((kind) => ({
      name: `refuses relative tables with a reason: ${kind}`,
      run: () => expectRefused(() => checkTables(kernelOf(), { kind, positions: undefined, softcap: 0 })),
    }));
  }
  const softcap = refused.includes('softcap') ? 0 : 2;
  return Object.keys(relativeKinds).flatMap((kind) => [
    {
      name: `results and gradients of relative tables equal the oracle's: ${kind}`,
      run: () => checkTables(kernelOf(), { kind, positions: undefined, softcap }),
    },
    {
      name: `results and gradients of relative tables equal the oracle's, at given positions: ${kind}`,
      run: () => checkTables(kernelOf(), { kind, positions: somewhere, softcap }),
    },
  ]);
}

interface TableCase {
  readonly kind: string;
  readonly positions: Positions | undefined;
  readonly softcap: number;
}

async function checkTables(kernel: AttentionKernel, { kind, positions, softcap }: TableCase): Promise<void> {
  const found = attentionCase({ sizes, mask: 'causal', softcap });
  const tables = randomTables(relativeKinds[kind]!(sizes));
  const cotangent = randomTensor([sizes.B, sizes.Hq, sizes.Sq, sizes.Dv], seededRandom(1));
  const oracle: OracleInputs = {
    ...found.oracle,
    relative: oracleTables(tables)!,
    ...(positions && { positions: { query: (_b, i) => queryPlaces[i]!, key: (b, j) => keyStarts[b]! + j } }),
  };
  const outputOf = (tensors: { readonly [name: string]: tf.Tensor }) =>
    attendWith(kernel, inputsAmong(tensors), {
      ...found.options(),
      relative: tensorTables(tablesAmong(tensors)),
      ...(positions && { positions }),
    }).output;

  const arrays = { ...found.arrays, ...prefixed(tables) };
  const names = Object.keys(arrays);
  const tensors = toTensors(arrays);
  const { output, maxAbsScore } = attentionOracle(oracle);
  expectClose({ actual: { output: await read(outputOf(tensors)) }, expected: { output }, maxAbsScore });

  const weights = toTensor(cotangent);
  const gradients = tf.grads((...given) =>
    tf.sum(tf.mul(outputOf(Object.fromEntries(names.map((name, n) => [name, given[n]!]))), weights)),
  )(Object.values(tensors));
  const loss = () => weightedSum(attentionOracle(oracle).output, cotangent.data);
  expectClose({
    actual: await readAll(Object.fromEntries(names.map((name, n) => [name, gradients[n]!]))),
    expected: Object.fromEntries(names.map((name) => [name, centralDifferences(loss, arrays[name]!.data)])),
    maxAbsScore,
    isGradient: true,
  });
}

// Tables stand beside the inputs under names of their own: a bias is both.
const prefix = 'table ';

function prefixed<T>(tables: { readonly [name: string]: T }): { readonly [name: string]: T } {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [prefix + name, table]));
}

function tablesAmong<T>(all: { readonly [name: string]: T }): { readonly [name: string]: T } {
  const tables = Object.entries(all).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(tables.map(([name, table]) => [name.slice(prefix.length), table]));
}

function inputsAmong<T>(all: { readonly [name: string]: T }): { readonly [name: string]: T } {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith(prefix)));
}
