import { ConfigError, ShapeError } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { safetensorsOf } from '../fixtures/safetensors-of';
import { readSafetensors } from '../safetensors/read-safetensors';
import { loadWeights } from './load-weights';

const counted = (shape: readonly number[], from = 0) => ({
  shape,
  numbers: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, n) => from + n),
});
const variable = (name: string, shape: number[]) => ({ name, variable: tf.variable(tf.zeros(shape)) });

describe('loadWeights', () => {
  it('transposes, cuts, reorders and converts as the table says, and reports it', async () => {
    const model = {
      variables: [
        variable('kernel', [3, 2]),
        variable('keys', [4]),
        variable('halves', [4, 1]),
        variable('gain', [2]),
        variable('bias', [2]),
      ],
    };
    const checkpoint = await readSafetensors(
      safetensorsOf({
        'a.weight': counted([2, 3]),
        'fused.bias': counted([12]),
        'pairs.weight': counted([4, 1]),
        'norm.weight': counted([2]),
        'rope.inv_freq': counted([2]),
      }),
    );
    const before = tf.memory().numTensors;
    const report = await loadWeights(model, checkpoint, {
      variables: {
        kernel: { tensor: ['absent', 'a.weight'], steps: [{ transpose: [1, 0] }] },
        // Two heads, each with queries, keys and values of size 2.
        keys: {
          tensor: 'fused.bias',
          steps: [{ reshape: [2, 3, 2] }, { slice: { axis: 1, start: 1, size: 1 } }, { reshape: [-1] }],
        },
        halves: {
          tensor: 'pairs.weight',
          steps: [{ reshape: [1, 2, 2, 1] }, { transpose: [0, 2, 1, 3] }, { reshape: [4, 1] }],
        },
        gain: { tensor: 'norm.weight', steps: [{ affine: { offset: 1 } }] },
        bias: { tensor: 'absent', optional: true },
      },
      ignored: ['*.inv_freq'],
    });
    expect(tf.memory().numTensors).toBe(before);
    expect(model.variables.map((named) => [...named.variable.dataSync()])).toEqual([
      [0, 3, 1, 4, 2, 5],
      [2, 3, 8, 9],
      [0, 2, 1, 3],
      [1, 2],
      [0, 0],
    ]);
    expect(report).toEqual({
      used: ['a.weight', 'fused.bias', 'pairs.weight', 'norm.weight'],
      missing: ['bias'],
      unused: [],
      transposed: ['kernel'],
      permuted: ['halves'],
      converted: ['gain'],
      kept: [],
    });
  });

  it('loads any layer by its own names, where no table is given', async () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, useBias: true }, { name: 'block0' });
    const tensors = layer.variables.map(
      ({ name, variable: { shape } }, n) => [name, counted(shape, n)] as const,
    );
    const checkpoint = await readSafetensors(safetensorsOf(Object.fromEntries(tensors)));
    const { used } = await loadWeights(layer, checkpoint);
    expect(used).toEqual(layer.variables.map(({ name }) => name));
    layer.variables.forEach(({ variable: { shape }, variable: loaded }, n) => {
      expect([...loaded.dataSync()]).toEqual([...counted(shape, n).numbers]);
    });
  });
});

describe('loadWeights refuses a checkpoint of another model', () => {
  const names = (...variables: readonly string[]) =>
    Object.fromEntries(variables.map((name) => [name, { tensor: `t.${name}` }]));
  const open = (...tensors: readonly (readonly [string, readonly number[]])[]) =>
    readSafetensors(
      safetensorsOf(Object.fromEntries(tensors.map(([name, shape]) => [name, counted(shape, 1)]))),
    );
  const model = () => ({ variables: [variable('a', [2, 3]), variable('b', [2])] });

  it('names what is missing, unused, unknown and misshapen, and sets nothing', async () => {
    const own = model();
    const checkpoint = await open(['t.a', [3, 2]], ['t.c', [1]]);
    const load = loadWeights(own, checkpoint, { variables: names('a', 'b', 'z') });
    await expect(load).rejects.toThrow(ShapeError);
    const { message } = (await load.catch((error: Error) => error as Error)) as Error;
    expect(message).toMatch(/missing +\[b\]/);
    expect(message).toMatch(/unused +\[t\.c\]/);
    expect(message).toMatch(/unknown +\[z\]/);
    expect(message).toMatch(/misshapen +\[a \[2, 3\] of t\.a \[3, 2\]\]/);
    for (const named of own.variables) expect(named.variable.dataSync().every((x) => x === 0)).toBe(true);
  });

  it('reports what is missing and unused where it is not strict, but never takes another shape', async () => {
    const own = model();
    const checkpoint = await open(['t.a', [2, 3]], ['t.c', [1]]);
    const table = { variables: names('a', 'b', 'z') };
    const report = await loadWeights(own, checkpoint, table, { strict: false });
    expect(report).toMatchObject({ used: ['t.a'], missing: ['b'], unused: ['t.c'] });
    const wrong = await open(['t.a', [6]]);
    await expect(loadWeights(own, wrong, table, { strict: false })).rejects.toThrow(/misshapen/);
  });

  it('says which step does not fit', async () => {
    const own = { variables: [variable('a', [2, 3])] };
    const checkpoint = await open(['t.a', [3, 2]]);
    const steps = {
      'another number of numbers': { reshape: [4, 2] },
      'name each axis once': { transpose: [0, 0] },
      'within the axis': { slice: { axis: 0, start: 2, size: 2 } },
      'a step must be': {} as never,
    };
    for (const [rule, step] of Object.entries(steps)) {
      const table = { variables: { a: { tensor: 't.a', steps: [step] } } };
      await expect(loadWeights(own, checkpoint, table)).rejects.toThrow(rule);
    }
  });

  it('takes names behind a prefix, and leaves other tensors alone', async () => {
    const own = model();
    const checkpoint = await open(['module.t.a', [2, 3]], ['module.t.b', [2]], ['epoch', [1]]);
    const report = await loadWeights(own, checkpoint, { variables: names('a', 'b') }, { prefix: 'module.' });
    expect(report).toMatchObject({ used: ['module.t.a', 'module.t.b'], unused: [] });
  });

  it('takes a tied tensor that is there twice, if both hold the same', async () => {
    const table = { variables: names('b'), tied: { head: 't.b' } };
    const own = { variables: [variable('b', [2])] };
    await loadWeights(own, await open(['t.b', [2]], ['head', [2]]), table);
    await loadWeights(own, await open(['t.b', [2]]), table);
    const other = safetensorsOf({ 't.b': counted([2], 1), head: counted([2], 5) });
    await expect(loadWeights(own, await readSafetensors(other), table)).rejects.toThrow(/same numbers/);
  });

  it('ignores by patterns that match whole names', async () => {
    const own = { variables: [variable('b', [2])] };
    const checkpoint = await open(['t.b', [2]], ['x.rope.inv_freq', [1]], ['x.rope.inv_freq_2', [1]]);
    const load = (ignored: readonly string[]) =>
      loadWeights(own, checkpoint, { variables: names('b'), ignored });
    await expect(load(['*.inv_freq'])).rejects.toThrow(/unused +\[x\.rope\.inv_freq_2\]/);
    await expect(load(['x.*rope*rope*'])).rejects.toThrow(/unused/);
    await expect(load(['x.*.inv_freq*'])).resolves.toMatchObject({ unused: [] });
  });

  it('says what its arguments must be', async () => {
    const own = { variables: [variable('b', [2])] };
    const checkpoint = await open(['b', [2]]);
    await expect(loadWeights(own, new Uint8Array(8) as never)).rejects.toThrow(
      /checkpoint must be what a reader gives/,
    );
    await expect(loadWeights(own, checkpoint, { b: 'b' } as never)).rejects.toThrow(
      /table must hold `variables`/,
    );
    await expect(loadWeights({} as never, checkpoint)).rejects.toThrow(/a model must have `variables`/);
  });

  it('refuses names that are there twice, and unknown options', async () => {
    const twice = { variables: [variable('b', [2]), variable('b', [2])] };
    const checkpoint = await open(['b', [2]]);
    await expect(loadWeights(twice, checkpoint)).rejects.toThrow(/name of its own/);
    const own = { variables: [variable('b', [2])] };
    await expect(loadWeights(own, checkpoint, undefined, { stirct: true } as never)).rejects.toThrow(
      ConfigError,
    );
  });
});
