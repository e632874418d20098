// Checks that a layer gives the right numbers: every result and gradient of every row against the oracle of layers.
import type { Check } from '../check';
import { expectClose } from '../expect-close';
import { centralDifferences, weightedSum } from '../gradients';
import { randomArray, seededRandom } from '../inputs';
import { toTensors } from '../kernel-run';
import { type LayerRow, layerCase, randomWeights } from '../layer-case';
import { layerOracle } from '../layer-oracle';
import { layerGradients, layerNumbers } from '../layer-run';
import { layerRows } from './rows';
import { takes, type Variant } from './suite';

const returns = ['weights', 'logSumExp', 'headOutputs'] as const;

export function variantValueChecks(variant: Variant): readonly Check[] {
  return layerRows
    .filter(({ config }) => takes(variant, config))
    .flatMap((row) => [
      { name: `equals the oracle: ${row.name}`, run: () => checkResults(variant, row) },
      {
        name: `gradients agree with central differences: ${row.name}`,
        run: () => checkGradients(variant, row),
      },
    ]);
}

/** The row's layer, with weights of its own. */
function withWeights(variant: Variant, row: LayerRow) {
  const layer = variant.create(row.config);
  const weights = randomWeights(layer);
  layer.setWeights(toTensors(weights));
  const found = layerCase(row);
  const oracle = { ...found.oracle, weights, ...(variant.position && { position: variant.position }) };
  return { layer, weights, found, oracle };
}

async function checkResults(variant: Variant, row: LayerRow): Promise<void> {
  const { layer, found, oracle } = withWeights(variant, row);
  const { maxAbsScore, ...expected } = layerOracle(oracle);
  expectClose({
    actual: await layerNumbers(layer, found.inputs(), { ...found.call(), returns }),
    expected,
    maxAbsScore,
  });
  layer.dispose();
}

async function checkGradients(variant: Variant, row: LayerRow): Promise<void> {
  const { layer, weights, found, oracle } = withWeights(variant, row);
  const first = layerOracle(oracle);
  const random = seededRandom(first.output.length);
  const names = ['output', ...returns] as const;
  const cotangents = Object.fromEntries(names.map((name) => [name, randomArray(first[name].length, random)]));
  const loss = () => {
    const results = layerOracle(oracle);
    return names.reduce((sum, name) => sum + weightedSum(results[name], cotangents[name]!), 0);
  };
  const arrays = { ...found.arrays, ...weights };
  expectClose({
    actual: await layerGradients(layer, {
      inputs: found.inputs(),
      call: { ...found.call(), returns },
      cotangents,
    }),
    expected: Object.fromEntries(
      Object.entries(arrays).map(([name, { data }]) => [name, centralDifferences(loss, data)]),
    ),
    maxAbsScore: first.maxAbsScore,
    isGradient: true,
  });
  layer.dispose();
}
