// Checks of tables looked up by distance: each kind gives the oracle's results and gradients.
import type { Positions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { Check } from '../check';
import { expectClose, expectSlopes } from '../expect-close';
import { centralDifferences, slopesOf, weightedSum } from '../gradients';
import { randomTensor, seededRandom } from '../inputs';
import { attendWith, type Numbers, read, readAll, toTensor, toTensors } from '../kernel-run';
import { attentionOracle, type OracleInputs } from '../oracle';
import { oracleTables, randomTables, relativeKinds, tensorTables } from '../relative-tables';
import { remember } from '../remember';
import { expectRefused } from './refusals';
import { allows, caseOf, type KernelUnderTest } from './suite';

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 4, Skv: 5, D: 3, Dv: 6 };

// Positions of queries one by one, out of order; keys counted from another start in each batch entry.
const queryPositions = Int32Array.of(3, 0, 7, 2);
const keyStarts = [1, -1];
const ownPositions: Positions = { query: { each: queryPositions }, key: { start: keyStarts } };

/** Kinds of tables whose gradients are compared entry by entry. */
const entrywise = ['all of them', 'keys with a query of their own'];

export function relativeChecks(suite: KernelUnderTest): readonly Check[] {
  const kinds = Object.keys(relativeKinds);
  if (!allows(suite, 'relative')) {
    return kinds.map((kind) => ({
      name: `refuses relative tables with a reason: ${kind}`,
      run: () => expectRefused(() => checkTables(suite, { kind, positions: undefined })),
    }));
  }
  return kinds.flatMap((kind) => [
    {
      name: `results and gradients of relative tables equal the oracle's: ${kind}`,
      run: () => checkTables(suite, { kind, positions: undefined }),
    },
    {
      name: `results and gradients of relative tables equal the oracle's, at positions of the call: ${kind}`,
      run: () => checkTables(suite, { kind, positions: ownPositions }),
    },
  ]);
}

interface TableCase {
  readonly kind: string;
  readonly positions: Positions | undefined;
}

async function checkTables(suite: KernelUnderTest, tableCase: TableCase): Promise<void> {
  const { testCase, arrays, oracle, cotangent } = tableNumbers(suite, tableCase);
  const { positions } = tableCase;
  const outputOf = (tensors: { readonly [name: string]: tf.Tensor }) =>
    attendWith(suite.create(), inputsAmong(tensors), {
      ...testCase.options(),
      relative: tensorTables(tablesAmong(tensors)),
      ...(positions && { positions }),
    }).output;
  const names = Object.keys(arrays);
  const tensors = toTensors(arrays);
  const attention = suite.oracle ?? attentionOracle;
  const { output, maxAbsScore } = attention(oracle);
  expectClose({ actual: { output: await read(outputOf(tensors)) }, expected: { output }, maxAbsScore });

  if (!allows(suite, 'gradients')) return;
  const weights = toTensor(cotangent);
  const ofInputs = tf.grads((...inputs) =>
    tf.sum(tf.mul(outputOf(Object.fromEntries(names.map((name, n) => [name, inputs[n]!]))), weights)),
  )(Object.values(tensors));
  const gradients = await readAll(Object.fromEntries(names.map((name, n) => [name, ofInputs[n]!])));
  const loss = () => weightedSum(attention(oracle).output, cotangent.data);
  const key = [tableCase.kind, positions !== undefined, testCase.name];
  const isEntrywise = !positions && entrywise.includes(tableCase.kind);
  if (!isEntrywise) {
    const slopes = remember([...key, 'slopes'], [attention], () => slopesOf(loss, arrays));
    expectSlopes({ gradients, slopes, maxAbsScore });
    return;
  }
  const differences = (): Numbers =>
    Object.fromEntries(names.map((name) => [name, centralDifferences(loss, arrays[name]!.data)]));
  const expected = remember([...key, 'gradients'], [attention], differences);
  expectClose({ actual: gradients, expected, maxAbsScore, isGradient: true });
}

/** A case with tables beside its arrays, under names of their own, and what the oracle reads. */
function tableNumbers(suite: KernelUnderTest, { kind, positions }: TableCase) {
  const mask = allows(suite, 'mask: causal') ? 'causal' : 'none';
  const testCase = caseOf(suite, { sizes, mask, softcap: allows(suite, 'softcap') ? 2 : 0 });
  const tables = randomTables(relativeKinds[kind]!(sizes));
  const oracle: OracleInputs = {
    ...testCase.oracle,
    relative: oracleTables(tables)!,
    ...(positions && {
      positions: { query: (_b, i) => queryPositions[i]!, key: (b, j) => keyStarts[b]! + j },
    }),
  };
  const cotangent = randomTensor([sizes.B, sizes.Hq, sizes.Sq, sizes.Dv], seededRandom(1));
  return { testCase, arrays: { ...testCase.arrays, ...prefixed(tables) }, oracle, cotangent };
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
