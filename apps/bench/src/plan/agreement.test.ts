// What a plan says of a config.json, beside the model that the transformer package makes of the same file.
import { readdirSync, readFileSync } from 'node:fs';
import { fromConfig, type NamedVariable } from '@polyhead/core';
import { planModel } from '@polyhead/inspect';
import { configFromHuggingFace, type LayerCacheShapes } from '@polyhead/transformer';
import { describe, expect, it } from 'vitest';
import { kinds } from '../model/kinds';

const fixtures = new URL('../../../../packages/transformer/src/fixtures/', import.meta.url);
const names = readdirSync(fixtures, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

interface Model {
  readonly variables: readonly NamedVariable[];
  /** Of an encoder–decoder. */
  readonly decoder?: Model;
  cacheShapes?(batch: number): LayerCacheShapes;
  dispose(): void;
}

/** Numbers of the projections of attention; norms and tables of positions are left out, as in a plan. */
function attentionParameters({ variables }: Model): number {
  return variables
    .filter(({ name }) => /attention\/(query|key|value|output|gate|sinks)\/(kernel|bias|logits)$/i.test(name))
    .reduce((sum, { variable }) => sum + variable.size, 0);
}

const numbersOf = (shapes: LayerCacheShapes[keyof LayerCacheShapes]) =>
  shapes.reduce((sum, { heads, keySize, valueSize }) => sum + heads * (keySize + valueSize), 0);

describe('a plan agrees with the model of the same file', () => {
  it.each(names)('%s', (name) => {
    const json = JSON.parse(readFileSync(new URL(`${name}/config.json`, fixtures), 'utf8'));
    const plan = planModel(json);
    const model = fromConfig<Model>(configFromHuggingFace(json).config, kinds);
    expect(plan.unsure).toEqual({ attentionLayers: [], parameters: [], cache: [] });
    expect(plan.parameters.attention).toBe(attentionParameters(model));
    const shapes = (model.decoder ?? model).cacheShapes?.(1);
    expect(plan.cache?.bytesPerToken.float32).toBe(shapes && 4 * numbersOf(shapes.self));
    const cross = shapes && shapes.cross.length > 0 ? 4 * numbersOf(shapes.cross) : undefined;
    expect(plan.cache?.crossBytesPerSourceToken?.float32).toBe(cross);
    model.dispose();
  });
});
