// Plans of configs as they are published, of some hundred models. Their numbers were computed by hand from the families' code:
// a layer's matrices by their shapes, its keys and values in float16. A config of which something is not understood says so;
// what numbers it has are right all the same.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { planModel } from './plan-model';

interface Known {
  readonly config: object;
  readonly expected: {
    readonly attentionLayers?: number;
    readonly cached?: false;
    readonly cacheBytesPerToken?: number;
    readonly crossCacheBytesPerSourceToken?: number;
    readonly attentionParametersPerLayer?: number;
    readonly attentionParametersInAll?: number;
    readonly layersWithWindow?: number;
    readonly context?: number;
    /** Something of the config is named as not understood, or a number that it lacks. */
    readonly unsure?: true;
  };
}

const fixture = new URL('../fixtures/known-plans.json', import.meta.url);
const known = JSON.parse(readFileSync(fixture, 'utf8')) as { readonly [name: string]: Known };

it.each(Object.entries(known))('%s', (_, { config, expected }) => {
  if (expected.unsure && expected.attentionLayers === undefined) {
    expect(doubtsOf(config)).not.toEqual([]);
    return;
  }
  const plan = planModel(config);
  const numbers = {
    attentionLayers: plan.attentionLayers,
    cached: plan.cache !== null,
    cacheBytesPerToken: plan.cache?.bytesPerToken.float16,
    crossCacheBytesPerSourceToken: plan.cache?.crossBytesPerSourceToken?.float16,
    attentionParametersPerLayer: plan.layers[0]?.parameters,
    attentionParametersInAll: plan.parameters.attention,
    layersWithWindow: plan.layers.filter(({ window }) => window !== undefined).length,
    context: plan.context,
  };
  const { unsure, ...right } = expected;
  expect(numbers).toMatchObject({ crossCacheBytesPerSourceToken: undefined, cached: true, ...right });
  expect(doubtsOf(config).length > 0).toBe(unsure === true);
});

/** What is named as not understood, or as missing. */
function doubtsOf(config: object): readonly string[] {
  try {
    return Object.values(planModel(config).unsure).flat();
  } catch (error) {
    return [(error as Error).message];
  }
}
