// Checks that a layer gives the right numbers: every result and gradient of every row against the variant's oracle.
import { type AttentionKernel, composed, type KernelCall } from '@polyhead/core';
import type { Check } from '../check';
import { expectClose, expectSlopes } from '../expect-close';
import { centralDifferences, slopesOf, weightedSum } from '../gradients';
import { randomArray, seededRandom } from '../inputs';
import { type Numbers, read, toTensors } from '../kernel-run';
import { type LayerRow, layerCase, randomWeights } from '../layer-case';
import { layerGradients, layerNumbers } from '../layer-run';
import { remember } from '../remember';
import { layerRows } from './rows';
import { oracleOf, returnsOf, rowFor, supports, traitsOf, type Variant } from './suite';

/** The rows of the suite and of the variant, as far as it has their options and takes their inputs. */
export function rowsOf(variant: Variant): readonly LayerRow[] {
  return [...layerRows, ...(variant.rows ?? [])]
    .filter(({ config }) => supports(variant, config))
    .map((row) => rowFor(variant, row));
}

export function variantValueChecks(variant: Variant): readonly Check[] {
  const valuesOf = (row: LayerRow): readonly Check[] => [
    { name: `equals the oracle: ${row.name}`, run: () => checkResults(variant, row) },
    {
      name: `gradients agree with ${row.entrywise ? 'central differences, entry by entry' : 'derivatives of the oracle'}: ${row.name}`,
      run: () => checkGradients(variant, row),
    },
  ];
  const isSoftmax = traitsOf(variant).softmax && returnsOf(variant).includes('weights');
  return [
    ...rowsOf(variant).flatMap(valuesOf),
    ...(isSoftmax ? [{ name: 'has weights that are a softmax', run: () => checkSoftmax(variant) }] : []),
  ];
}

/** `composed`, and the dropout of the call that it ran. */
function recordingKernel() {
  let dropout: KernelCall['dropout'];
  const kernel: AttentionKernel = {
    ...composed(),
    run(call) {
      dropout = call.dropout;
      return composed().run(call);
    },
  };
  return { kernel, dropout: () => dropout };
}

/** The row's layer with random weights, applied once, and what the oracle says of it. */
async function applied(variant: Variant, row: LayerRow) {
  const recording = row.training ? recordingKernel() : undefined;
  const layer = variant.create(row.config, recording && { kernel: recording.kernel });
  const weights = randomWeights(layer);
  layer.setWeights(toTensors(weights));
  const testCase = layerCase(row);
  const call = { ...testCase.call(), returns: returnsOf(variant) };
  const actual = await layerNumbers(layer, testCase.inputs(), call);
  const dropout = recording?.dropout();
  if (row.training && dropout?.rate !== row.config.dropout)
    throw new Error(`the kernel was called with dropout ${dropout?.rate}, not ${row.config.dropout}`);

  const { oracle, identities } = oracleOf(variant);
  const inputs = {
    ...testCase.oracle,
    weights,
    ...(variant.position && { position: variant.position }),
    ...(dropout && { keep: testCase.keep(dropout) }),
  };
  const shapes = Object.entries(weights).map(([name, { shape }]) => [name, shape]);
  const remembered = <T>(what: string, compute: () => T): T =>
    remember([what, row, shapes, dropout], identities, compute);
  const arrays = { ...testCase.arrays, ...weights };
  return {
    ...{ layer, testCase, call, actual, arrays, remembered },
    evaluate: () => oracle(inputs),
    expected: remembered('results', () => oracle(inputs)),
  };
}

async function checkResults(variant: Variant, row: LayerRow): Promise<void> {
  const { layer, actual, expected } = await applied(variant, row);
  const { maxAbsScore, ...results } = expected;
  const names = ['output', ...returnsOf(variant)] as const;
  expectClose({
    actual,
    expected: Object.fromEntries(names.map((name) => [name, numbersOf(results, name)])),
    maxAbsScore,
  });
  layer.dispose();
}

function numbersOf(results: Partial<Numbers>, name: string): Float64Array {
  const numbers = results[name];
  if (!numbers) throw new Error(`the variant returns ${name}, but its oracle gives none`);
  return numbers;
}

async function checkGradients(variant: Variant, row: LayerRow): Promise<void> {
  const { layer, testCase, call, arrays, expected, evaluate, remembered } = await applied(variant, row);
  const random = seededRandom(expected.output.length);
  const names = ['output', ...returnsOf(variant)] as const;
  const cotangents = Object.fromEntries(
    names.map((name) => [name, randomArray(numbersOf(expected as object, name).length, random)]),
  );
  const loss = () => {
    const results: Partial<Numbers> = evaluate() as object;
    return names.reduce((sum, name) => sum + weightedSum(numbersOf(results, name), cotangents[name]!), 0);
  };
  const gradients = await layerGradients(layer, { inputs: testCase.inputs(), call, cotangents });
  const { maxAbsScore } = expected;
  if (row.entrywise) {
    const differences = () =>
      Object.entries(arrays).map(([name, { data }]) => [name, centralDifferences(loss, data)] as const);
    const entries = Object.fromEntries(remembered('gradients', differences));
    expectClose({ actual: gradients, expected: entries, maxAbsScore, isGradient: true });
  } else {
    const slopes = remembered('slopes', () => slopesOf(loss, arrays));
    expectSlopes({ gradients, slopes, maxAbsScore });
  }
  layer.dispose();
}

/** No weight is below 0; those of a row add up to 1, or to 0 where it sees no key. */
async function checkSoftmax(variant: Variant): Promise<void> {
  const config = { embedDim: 6, numHeads: 2 };
  const row = rowFor(variant, { name: '', config, B: 2, Sq: 5, Skv: 7, mask: 'lengths per row' });
  const layer = variant.create(config);
  layer.setWeights(toTensors(randomWeights(layer)));
  const testCase = layerCase(row);
  const { weights } = layer.apply(testCase.inputs(), { ...testCase.call(), returns: ['weights'] });
  const width = weights!.shape[3];
  const data = await read(weights!);
  if (data.some((x) => x < 0)) throw new Error('a weight is below 0');
  for (let at = 0; at < data.length; at += width) {
    const sum = data.subarray(at, at + width).reduce((total, x) => total + x, 0);
    if (Math.abs(sum - Math.round(sum)) > 1e-5 || sum > 1.5) throw new Error(`weights add up to ${sum}`);
  }
  layer.dispose();
}
