// What the position methods of this package have in common: each is a formula, and what it is called with is checked here.
import {
  ConfigError,
  type HeadRows,
  type Initializer,
  type PositionMethod,
  ShapeError,
  type VariableShapes,
} from '@polyhead/core';
import {
  checkTensor,
  checkTokenPositions,
  normalizeOptions,
  type WeightOptions,
  Weights,
} from '@polyhead/core/layer';
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
  /** First numbers of the variables. Default: each has its own start, matrices Glorot uniform. */
  readonly initializer?: Initializer | undefined;
  /** Stands before the names of its variables, wherever they are listed. Default: that of the layer that lists them. */
  readonly name?: string | undefined;
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

type Formula = Pick<PositionMethod, 'rotate' | 'rotateInto' | 'tables' | 'selfOnly' | 'scale'>;

interface Described {
  readonly config: object;
  readonly needs?: NeededSizes | undefined;
}

/** A position method without variables: it has nothing to dispose. */
export function positionMethod(
  where: string,
  { config, needs = {} }: Described,
  { rotate, rotateInto, tables, ...formula }: Formula,
): PositionMethod {
  return {
    ...formula,
    config: frozenCopy(config),
    variables: [],
    check: (sizes) => checkSizesOfLayer(where, sizes, needs),
    ...(rotate && {
      rotate(heads, role, at) {
        checkTensor(where, 'heads', heads, ['[B, H, S, D]']);
        checkRotation(where, heads, { role, at, needs });
        return rotate(heads, role, at);
      },
    }),
    ...(rotateInto && {
      rotateInto(to, heads, role, at) {
        checkRotation(where, heads, { role, at, needs });
        rotateInto(to, heads, role, at);
      },
    }),
    ...(tables && {
      tables(query, distances, layer) {
        checkTensor(where, 'query', query, ['[B, H, S, D]']);
        checkHeads(where, 'query', query, needs);
        checkDistances(where, distances);
        return tables(query, distances, layer);
      },
    }),
    dispose() {},
    toJSON: () => ({ kind: where, config }),
  };
}

/** What makes variables, and what else stands in JSON. */
interface Trained extends Pick<WeightOptions, 'starts'> {
  readonly config: object;
  readonly shapes: VariableShapes;
  readonly parts: PositionParts | null | undefined;
  /** Parts of its own, which are in JSON. */
  readonly others?: { readonly [name: string]: object | undefined };
}

/** A position method with variables of its own. */
export function trainedPosition(
  where: string,
  { needs = {}, ...trained }: Described & Trained,
  formula: (variables: VariablesByName) => Formula,
): TrainedPosition {
  const { weights, ...owner } = ownVariables(where, trained);
  return { ...positionMethod(where, { config: trained.config, needs }, formula(weights)), ...owner };
}

/** Variables that start from `config.seed`, and the doors to them that everything trained here has. */
export function ownVariables(where: string, { config, shapes, parts, starts, others = {} }: Trained) {
  const known = ['initializer', 'name', ...Object.keys(others)] as 'name'[];
  const { initializer, name } = normalizeOptions<PositionParts>(where, 'parts', parts ?? {}, known);
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new ConfigError(where, 'parts.name must be a text, such as "encoder/position"', { name });
  const { seed = Math.floor(Math.random() * 2 ** 31) } = config as { readonly seed?: number };
  const own = new Weights(where, shapes, { seed, name, initializer, starts });
  const drawn = Object.keys(shapes).some((short) => !starts?.[short]);
  const partsOfJSON = Object.fromEntries(
    Object.entries({ name, ...others }).filter(([, part]) => part !== undefined),
  );
  return {
    weights: own as VariablesByName,
    name,
    variables: own.variables,
    getWeights: () => own.read(),
    setWeights: (named: Readonly<Record<string, tf.Tensor>>) => own.write(named),
    dispose: () => own.dispose(),
    toJSON: () => ({
      kind: where,
      config: drawn ? { ...config, seed } : config,
      ...(Object.keys(partsOfJSON).length > 0 && { parts: partsOfJSON }),
    }),
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
  heads: Pick<HeadRows, 'shape'>,
  { numHeads, headDim }: NeededSizes,
): void {
  const [, H, , D] = heads.shape;
  if (headDim !== undefined && D !== headDim) {
    throw new ShapeError(where, `${name} must be headDim wide`, { [name]: heads, headDim });
  }
  if (numHeads === undefined || H === numHeads) return;
  throw new ShapeError(where, `${name} must have numHeads heads`, { [name]: heads, numHeads });
}

interface Rotated {
  readonly role: unknown;
  readonly at: Parameters<NonNullable<PositionMethod['rotate']>>[2];
  readonly needs: NeededSizes;
}

function checkRotation(where: string, heads: Pick<HeadRows, 'shape'>, { role, at, needs }: Rotated): void {
  checkHeads(where, 'heads', heads, role === 'key' ? { headDim: needs.headDim } : needs);
  const [B, , S] = heads.shape;
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
