// Position methods as JSON and back, in layers that share them.
import { numbersOf, toHost } from '@polyhead/conformance';
import { type Attention, fromConfig, type PositionMethod, toConfig } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  alibi,
  axialRotary,
  bertRelative,
  deberta,
  debertaEmbeddings,
  learned,
  RelativePositionAttention,
  rotary,
  shaw,
  sinusoidal,
  swin,
  t5,
  transformerXL,
  windowPositions,
} from './index';

const kinds = [
  alibi,
  axialRotary,
  bertRelative,
  deberta,
  debertaEmbeddings,
  learned,
  MultiHeadAttention,
  RelativePositionAttention,
  rotary,
  shaw,
  sinusoidal,
  swin,
  t5,
  transformerXL,
];
const rebuilt = <T>(value: unknown): T => fromConfig<T>(JSON.parse(JSON.stringify(toConfig(value))), kinds);
const config = { embedDim: 8, numHeads: 2 };

const yarn = { type: 'yarn', factor: 2, originalLength: 8, truncate: false } as const;
const methods: readonly (readonly [string, () => PositionMethod])[] = [
  ['rotary', () => rotary({ headDim: 4, scaling: yarn })],
  ['axialRotary', () => axialRotary({ headDim: 4, interleaved: true })],
  ['alibi', () => alibi({ numHeads: 2, slopes: [1, 2] })],
  ['alibi, trained', () => alibi({ numHeads: 2, trainable: true })],
  ['t5', () => t5({ numHeads: 2 })],
  ['swin', () => swin({ numHeads: 2, window: [1, 3] })],
  ['bertRelative', () => bertRelative({ headDim: 4, maxPositions: 8 })],
  ['shaw', () => shaw({ headDim: 4, valueTable: 'own' })],
  ['transformerXL', () => transformerXL({ numHeads: 2, headDim: 4 })],
  ['deberta', () => deberta({ embedDim: 8, numHeads: 2, buckets: 4, terms: ['positionToContent'] })],
  ['deberta, projections of the layer', () => deberta({ ...config, maxDistance: 4, projections: 'layer' })],
];

function outputOf(layer: Attention, isGrid: boolean): Float64Array {
  const positions = isGrid ? windowPositions([1, 3]) : [{ start: [3] }];
  const query = tf.randomNormal([2, 3, 8], 0, 1, 'float32', 1);
  const call = { positions: layer.toJSON && isAxial(layer) ? [...positions, ...positions] : positions };
  return Float64Array.from(toHost(layer.apply({ query }, call).output));
}

const isAxial = (layer: Attention) => JSON.stringify(layer).includes('"axialRotary"');

describe.each(methods)('a layer with %s, as JSON and back', (name, create) => {
  it.each([undefined, 'encoder/position'])('starts the same, under the name %s', () => {
    const layer = new MultiHeadAttention(config, { position: create() });
    const again = rebuilt<MultiHeadAttention>(layer);
    expect(outputOf(again, name === 'swin')).toEqual(outputOf(layer, name === 'swin'));
    expect(again.variables.map((variable) => variable.name)).toEqual(
      layer.variables.map((variable) => variable.name),
    );
    expect(JSON.stringify(again)).toBe(JSON.stringify(layer));
  });
});

it('methods of absolute positions, as JSON and back, add the same', () => {
  const embeddings = tf.zeros<tf.Rank.R3>([1, 3, 4]);
  for (const method of [
    sinusoidal({ embedDim: 4, base: 100 }),
    learned({ embedDim: 4, maxPositions: 5 }, { name: 'embedding' }),
  ]) {
    const again = rebuilt<typeof method>(method);
    expect(numbersOf(again.addTo(embeddings))).toEqual(numbersOf(method.addTo(embeddings)));
    expect(again.variables.map(({ name }) => name)).toEqual(method.variables.map(({ name }) => name));
    method.dispose();
    again.dispose();
  }
});

describe('what layers share', () => {
  const names = ['block0/attention', 'block1/attention'];

  it('stands once: the table of T5', () => {
    const position = t5({ numHeads: 2 }, { name: 'encoder' });
    const layers = names.map((name) => new MultiHeadAttention(config, { position, name }));
    const json = JSON.parse(JSON.stringify(toConfig(layers)));
    expect(json.shared).toEqual({
      encoder: { kind: 't5', config: { numHeads: 2, seed: expect.any(Number) }, parts: { name: 'encoder' } },
    });
    expect(json.value.map((layer: { parts: object }) => layer.parts)).toEqual(
      names.map((name) => ({ name, position: { ref: 'encoder' } })),
    );
    const again = fromConfig<MultiHeadAttention[]>(json, kinds).map(({ variables }) => variables.at(-1)!);
    expect(again.map(({ name }) => name)).toEqual(['encoder/table', 'encoder/table']);
    expect(again[0]!.variable).toBe(again[1]!.variable);
    expect(numbersOf(again[0]!.variable)).toEqual(numbersOf(position.variables[0]!.variable));
  });

  it.each(['own', 'layer'] as const)(
    'stands once: the embeddings of DeBERTa, projections %s',
    (projections) => {
      const embeddings = debertaEmbeddings({ embedDim: 8, buckets: 4 }, { name: 'encoder' });
      const layers = names.map(
        (name) =>
          new MultiHeadAttention(config, {
            name,
            position: deberta(
              { ...config, buckets: 4, projections },
              { embeddings, name: `${name}/position` },
            ),
          }),
      );
      const json = JSON.parse(JSON.stringify(toConfig(layers)));
      expect(Object.keys(json.shared)).toEqual(['encoder']);
      expect(json.shared.encoder.kind).toBe('debertaEmbeddings');
      const again = fromConfig<MultiHeadAttention[]>(json, kinds);
      const shared = again.map(
        ({ variables }) => variables.find(({ name }) => name === 'encoder/embeddings')!,
      );
      expect(shared[0]!.variable).toBe(shared[1]!.variable);
      again.forEach((layer, n) => {
        expect(outputOf(layer, false)).toEqual(outputOf(layers[n]!, false));
        expect(layer.variables.map(({ name }) => name)).toEqual(layers[n]!.variables.map(({ name }) => name));
      });
    },
  );
});

it('a layer with the tables of Shaw, as JSON and back, starts the same', () => {
  const layer = new RelativePositionAttention(
    { ...config, maxRelativePosition: 2, perHead: true },
    { name: 'a' },
  );
  const again = rebuilt<RelativePositionAttention>(layer);
  expect(again.variables.at(-1)!.name).toBe('a/position/keys');
  const query = tf.randomNormal([2, 3, 8], 0, 1, 'float32', 1);
  expect(numbersOf(again.apply({ query }).output)).toEqual(numbersOf(layer.apply({ query }).output));
});

it('weights have short names, whatever the name of the method', () => {
  const position = t5({ numHeads: 2 }, { name: 'encoder' });
  expect(Object.keys(position.getWeights())).toEqual(['table']);
  position.setWeights({ table: tf.zeros([32, 2]) });
  const { seed: _, ...others } = { seed: 1, numHeads: 2 };
  const [one, other] = ['a', 'b'].map((name) =>
    numbersOf(t5({ ...others, seed: 1 }, { name }).variables[0]!.variable),
  );
  expect(one).not.toEqual(other);
  expect(() => t5({ numHeads: 2 }, { name: 3 } as never)).toThrow(/t5: parts.name must be a text/);
  expect(() => t5({ numHeads: 2 }, { named: 'a' } as never)).toThrow(/t5: parts may hold known options only/);
  expect(() => t5({ numHeads: 2 }, null as never)).not.toThrow();
});
