// What the position methods of this package have in common: each is a formula, and what it is called with is checked here.
import {
  ConfigError,
  type Initializer,
  type PositionMethod,
  ShapeError,
  type VariableShapes,
} from '@polyhead/core';
import { checkTensor, checkTokenPositions, normalizeOptions, Weights } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';

/** A position method that is trained. */
export interface TrainedPosition extends PositionMethod {
  /** Copies by name, which the caller disposes. */
  getWeights(): Record<string, tf.Tensor>;
  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void;
}

/** Objects that a trained method works with; never part of its config. */
export interface PositionParts {
  /** First numbers of the variables. Default: Glorot uniform. */
  readonly initializer?: Initializer | undefined;
}

/** What a method computes with: the variables of its own, or those that a layer holds for it. */
export interface VariablesByName {
  get(name: string): tf.Variable;
  find(name: string): tf.Variable | undefined;
}

/** Sizes of a layer's heads that a method needs; left out: any. */
export interface NeededSizes {
  /** Hq */
  readonly numHeads?: number | undefined;
  /** D */
  readonly headDim?: number | undefined;
  /** Dv */
  readonly valueHeadDim?: number | undefined;
}

type Formula = Pick<PositionMethod, 'rotate' | 'tables' | 'selfOnly' | 'scale'>;

interface Described {
  readonly config: object;
  readonly needs?: NeededSizes;
}

/** A position method without variables: it has nothing to dispose. */
export function positionMethod(
  where: string,
  { config, needs = {} }: Described,
  { rotate, tables, ...formula }: Formula,
): PositionMethod {
  return {
    ...formula,
    config: frozenCopy(config),
    variables: [],
    check: (sizes) => checkSizesOfLayer(where, sizes, needs),
    ...(rotate && {
      rotate(heads, role, at) {
        checkHeads(where, 'heads', heads, role === 'key' ? { headDim: needs.headDim } : needs);
        checkRotation(where, heads, { role, at });
        return rotate(heads, role, at);
      },
    }),
    ...(tables && {
      tables(query, distances, layer) {
        checkHeads(where, 'query', query, needs);
        checkDistances(where, distances);
        return tables(query, distances, layer);
      },
    }),
    dispose() {},
  };
}

/** A position method with variables of its own. */
export function trainedPosition(
  where: string,
  {
    shapes,
    parts = {},
    seed,
    ...described
  }: Described & {
    readonly shapes: VariableShapes;
    readonly parts?: PositionParts;
    readonly seed?: number | undefined;
  },
  formula: (variables: VariablesByName) => Formula,
): TrainedPosition {
  const { weights, ...owner } = ownVariables(where, { shapes, parts, seed });
  return { ...positionMethod(where, described, formula(weights)), ...owner };
}

/** Variables, and the doors to them that everything trained here has. */
export function ownVariables(
  where: string,
  {
    shapes,
    parts,
    seed = Math.floor(Math.random() * 2 ** 31),
  }: {
    readonly shapes: VariableShapes;
    readonly parts: PositionParts;
    readonly seed?: number | undefined;
  },
) {
  const { initializer } = normalizeOptions(where, 'parts', parts, ['initializer']);
  const own = new Weights(where, shapes, { seed, ...(initializer && { initializer }) });
  const { variables } = own;
  const alive = () => {
    if (!variables.some(({ variable }) => variable.isDisposed)) return own;
    throw new ShapeError(where, 'the position method must not be disposed', {
      variables: variables.map(({ name }) => name),
    });
  };
  const weights: VariablesByName = {
    get: (name) => alive().get(name),
    find: (name) => alive().find(name),
  };
  return {
    weights,
    variables,
    getWeights: () => alive().read(),
    setWeights: (named: Readonly<Record<string, tf.Tensor>>) => alive().write(named),
    dispose: () => own.dispose(),
  };
}

/** A copy of plain JSON, frozen throughout: what its caller does to lists of its own later changes nothing. */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map((entry) => frozenCopy(entry))
    : Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, frozenCopy(entry)]));
  return Object.freeze(copy) as T;
}

/** @throws ConfigError for a layer whose heads have other sizes */
function checkSizesOfLayer(where: string, sizes: Required<NeededSizes>, needs: NeededSizes): void {
  for (const name of ['numHeads', 'headDim', 'valueHeadDim'] as const) {
    if (needs[name] === undefined || sizes[name] === needs[name]) continue;
    throw new ConfigError(where, `the layer must have the ${name} of its position method`, {
      'of the method': needs[name],
      'of the layer': sizes[name],
    });
  }
}

/** @throws ShapeError unless heads [B, H, S, D] have these sizes */
function checkHeads(
  where: string,
  name: string,
  heads: tf.Tensor4D,
  { numHeads, headDim }: NeededSizes,
): void {
  checkTensor(where, name, heads, ['[B, H, S, D]']);
  const [, H, , D] = heads.shape;
  if (headDim !== undefined && D !== headDim) {
    throw new ShapeError(where, `${name} must be headDim wide`, { [name]: heads, headDim });
  }
  if (numHeads === undefined || H === numHeads) return;
  throw new ShapeError(where, `${name} must have numHeads heads`, { [name]: heads, numHeads });
}

function checkRotation(
  where: string,
  { shape: [B, , S] }: tf.Tensor4D,
  { role, at }: { readonly role: unknown; readonly at: Parameters<NonNullable<PositionMethod['rotate']>>[2] },
): void {
  if (role !== 'query' && role !== 'key') {
    throw new ConfigError(where, "role must be 'query' or 'key'", { role });
  }
  if (!Array.isArray(at) || at.length === 0) {
    throw new ConfigError(where, 'positions must be a list, with one entry for each section', {
      positions: at,
    });
  }
  at.forEach((entry, n) => {
    checkTokenPositions(where, `positions[${n}]`, entry, [B, S]);
  });
}

function checkDistances(where: string, distances: unknown): void {
  const [from, to] = Array.isArray(distances) ? (distances as unknown[]) : [];
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && (from as number) < (to as number)) return;
  throw new ConfigError(where, 'distances must be [from, to], whole numbers, to excluded and above from', {
    distances,
  });
}
