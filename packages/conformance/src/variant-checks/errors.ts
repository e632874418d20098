// Checks that wrong inputs and configs are refused by typed errors that name the argument and show what came.
import {
  dense,
  isAttentionError,
  type LayerCall,
  type LayerInputs,
  type PositionMethod,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import type { LayerConfig } from '../layer-case';
import { expectSameMemory, memoryNow } from '../memory';
import { supports, takesInput, traitsOf, type Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2 };

interface WrongCall {
  readonly kind: 'ShapeError' | 'ConfigError';
  /** What the message must hold: the argument, and shapes or values as they came. */
  readonly says: readonly string[];
  /** Inputs that the call has. */
  readonly needs?: readonly ('key' | 'value')[];
  make(): { readonly inputs?: Partial<LayerInputs>; readonly call?: LayerCall };
}

const zeros = (shape: number[], dtype: tf.DataType = 'float32') =>
  tf.zeros(shape, dtype as 'float32') as never;

function disposed(): tf.Tensor3D {
  const tensor: tf.Tensor3D = zeros([2, 4, 6]);
  tensor.dispose();
  return tensor;
}

/** Where a message must hold the shape of scores: [2, heads, 4, 4]. */
const scores = 'scores';

/** For a layer 6 wide with 2 heads, and a query of [2, 4, 6] where no other is given. */
const wrongCalls: { readonly [fault: string]: WrongCall } = {
  'a query without a batch axis': {
    kind: 'ShapeError',
    says: ['query', '[4, 6]'],
    make: () => ({ inputs: { query: zeros([4, 6]) } }),
  },
  'a query of another width': {
    kind: 'ShapeError',
    says: ['query', '[2, 4, 5]', '6'],
    make: () => ({ inputs: { query: zeros([2, 4, 5]) } }),
  },
  'a query of whole numbers': {
    kind: 'ShapeError',
    says: ['query', 'int32'],
    make: () => ({ inputs: { query: zeros([2, 4, 6], 'int32') } }),
  },
  'a query that is disposed': {
    kind: 'ShapeError',
    says: ['query', 'disposed'],
    make: () => ({ inputs: { query: disposed() } }),
  },
  'a query that is no tensor': {
    kind: 'ShapeError',
    says: ['query', 'tensor'],
    make: () => ({ inputs: { query: [[[1, 2, 3, 4, 5, 6]]] as never } }),
  },
  'a key of another width': {
    needs: ['key'],
    kind: 'ShapeError',
    says: ['key', '[2, 5, 7]', '6'],
    make: () => ({ inputs: { key: zeros([2, 5, 7]) } }),
  },
  'a key of another batch': {
    needs: ['key'],
    kind: 'ShapeError',
    says: ['key', '[1, 5, 6]', '[2, 4, 6]'],
    make: () => ({ inputs: { key: zeros([1, 5, 6]) } }),
  },
  'a value of another length': {
    needs: ['key', 'value'],
    kind: 'ShapeError',
    says: ['value', '[2, 4, 6]', '[2, 5, 6]'],
    make: () => ({ inputs: { key: zeros([2, 5, 6]), value: zeros([2, 4, 6]) } }),
  },
  'a value without a key': {
    needs: ['key', 'value'],
    kind: 'ShapeError',
    says: ['value', 'key'],
    make: () => ({ inputs: { value: zeros([2, 4, 6]) } }),
  },
  'a bias that does not broadcast': {
    kind: 'ShapeError',
    says: ['bias', '[1, 1, 4, 3]', scores],
    make: () => ({ call: { bias: zeros([1, 1, 4, 3]) } }),
  },
  'a bias of rank 2': {
    kind: 'ShapeError',
    says: ['bias', '[4, 4]'],
    make: () => ({ call: { bias: zeros([4, 4]) } }),
  },
  'a bias of booleans': {
    kind: 'ShapeError',
    says: ['bias', 'bool'],
    make: () => ({ call: { bias: zeros([1, 1, 4, 4], 'bool') } }),
  },
  'a dense mask of another size': {
    kind: 'ShapeError',
    says: ['mask', '[4, 5]', scores],
    make: () => ({ call: { mask: dense(zeros([4, 5], 'bool')) } }),
  },
  'lengths of another batch': {
    kind: 'ShapeError',
    says: ['length', '3', '2'],
    make: () => ({ call: { mask: validLengths([1, 2, 3]) } }),
  },
  'a query start between tokens': {
    kind: 'ConfigError',
    says: ['queryStart', '0.5'],
    make: () => ({ call: { queryStart: 0.5 } }),
  },
  'query starts of another batch': {
    kind: 'ShapeError',
    says: ['queryStart', '[0, 1, 2]'],
    make: () => ({ call: { queryStart: [0, 1, 2] } }),
  },
  'a training seed that is no number': {
    kind: 'ConfigError',
    says: ['training.seed', 'NaN'],
    make: () => ({ call: { training: { seed: Number.NaN } } }),
  },
  'an unknown result': {
    kind: 'ConfigError',
    says: ['returns', 'attention'],
    make: () => ({ call: { returns: ['attention' as 'weights'] } }),
  },
};

const wrongConfigs: {
  readonly [fault: string]: { readonly config: LayerConfig; readonly says: readonly string[] };
} = {
  'a width that does not divide by the heads': {
    config: { embedDim: 10, numHeads: 4 },
    says: ['embedDim', '10', 'numHeads', '4'],
  },
  'no heads': { config: { embedDim: 6, numHeads: 0 }, says: ['numHeads', '0'] },
  'half a head': { config: { embedDim: 6, numHeads: 1.5 }, says: ['numHeads', '1.5'] },
  'a negative width': { config: { embedDim: -6, numHeads: 2 }, says: ['embedDim', '-6'] },
  'a width that is no number': { config: { embedDim: Number.NaN, numHeads: 2 }, says: ['embedDim', 'NaN'] },
  'a head without size': { config: { ...config, headDim: 0 }, says: ['headDim', '0'] },
  'a dropout of 1': { config: { ...config, dropout: 1 }, says: ['dropout', '1'] },
  'a negative dropout': { config: { ...config, dropout: -0.1 }, says: ['dropout', '-0.1'] },
  'a dropout that is no number': { config: { ...config, dropout: Number.NaN }, says: ['dropout', 'NaN'] },
  'a negative softcap': { config: { ...config, softcap: -1 }, says: ['softcap', '-1'] },
  'an infinite scale': {
    config: { ...config, scale: Number.POSITIVE_INFINITY },
    says: ['scale', 'Infinity'],
  },
  'a seed between whole numbers': { config: { ...config, seed: 0.5 }, says: ['seed', '0.5'] },
};

/** Stands for one that has no meaning in cross-attention, as T5's is. */
const ofOwnTokens: PositionMethod = {
  config: {},
  variables: [],
  selfOnly: true,
  rotate: (heads) => heads,
  dispose: () => {},
};

export function errorChecks(variant: Variant): readonly Check[] {
  const configs = Object.entries(wrongConfigs).filter(([, { config: wrong }]) => supports(variant, wrong));
  const calls = Object.entries(wrongCalls).filter(([, { needs = [] }]) =>
    needs.every((name) => takesInput(variant, name)),
  );
  return [
    ...calls.map(([fault]) => ({
      name: `refuses ${fault} by name, and changes nothing`,
      run: () => checkWrongCall(variant, fault),
    })),
    ...(variant.position
      ? [] // it has its own
      : [
          { name: 'refuses positions where it has no method for them', run: () => checkPositions(variant) },
          { name: 'refuses what is no position method', run: () => checkNoMethod(variant) },
        ]),
    ...(variant.position || !takesInput(variant, 'key')
      ? []
      : [
          {
            name: 'refuses keys of other tokens where its position method has no meaning for them',
            run: () => checkCrossPosition(variant),
          },
        ]),
    ...configs.map(([fault, { config: wrong, says }]) => ({
      name: `refuses a config with ${fault}`,
      async run() {
        const before = memoryNow();
        const error = await thrownBy(() => variant.create(wrong));
        expectRefusal(fault, error, { kind: 'ConfigError', says });
        expectSameMemory(before);
      },
    })),
  ];
}

/** Plain and in a gradient, where what is taped before an error is thrown would never be disposed. */
async function checkWrongCall(variant: Variant, fault: string): Promise<void> {
  const { make, kind, says } = wrongCalls[fault]!;
  const { inputs, call } = make();
  const heads = config.numHeads * traitsOf(variant).scoresPerHead;
  const expected = { kind, says: says.map((part) => (part === scores ? `2, ${heads}, 4, 4` : part)) };
  const layer = variant.create(config);
  const query = tf.zeros<tf.Rank.R3>([2, 4, 6]);
  const before = memoryNow();
  const apply = () => layer.apply({ query, ...inputs } as LayerInputs, call);
  expectRefusal(fault, await thrownBy(apply), expected);
  expectSameMemory(before);
  const inGradient = await thrownBy(() => tf.variableGrads(() => tf.sum(apply().output)));
  expectRefusal(`${fault}, in a gradient`, inGradient, expected);
  expectSameMemory(before);
  layer.dispose();
}

async function checkPositions(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const call = { positions: [{ start: [0] }] };
  const error = await thrownBy(() => layer.apply({ query: zeros([2, 4, 6]) }, call));
  expectRefusal('positions', error, { kind: 'ConfigError', says: ['positions', 'position method'] });
  layer.dispose();
}

async function checkNoMethod(variant: Variant): Promise<void> {
  const before = memoryNow();
  const error = await thrownBy(() => variant.create(config, { position: {} as PositionMethod }));
  expectRefusal('position', error, { kind: 'ConfigError', says: ['position', 'PositionMethod'] });
  expectSameMemory(before);
}

async function checkCrossPosition(variant: Variant): Promise<void> {
  const layer = variant.create(config, { position: ofOwnTokens });
  const [query, key] = [zeros([2, 4, 6]), zeros([2, 5, 6])];
  const before = memoryNow();
  const error = await thrownBy(() => layer.apply({ query, key }));
  if (!isAttentionError(error) || error.name !== 'UnsupportedError' || !/cross: false/.test(error.message))
    throw new Error(`${error}`);
  expectSameMemory(before);
  layer.dispose();
}

function expectRefusal(
  fault: string,
  error: unknown,
  { kind, says }: Pick<WrongCall, 'kind' | 'says'>,
): void {
  if (!isAttentionError(error) || error.name !== kind) throw new Error(`${fault}: ${error}`);
  const missing = says.filter((part) => !error.message.includes(part));
  if (missing.length > 0) throw new Error(`${fault}: no word of ${missing.join(', ')} in ${error.message}`);
}
