// Numbers of a checkpoint into the variables of a model: judged as a whole first, then one tensor at a time.
import { ConfigError, ShapeError } from '@polyhead/core';
import { normalizeOptions, storeMatrix, type WeightStep, type WeightTable } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import type { Checkpoint } from '../checkpoint';
import { FileError } from '../errors';
import { restoreOptimizer } from '../save/optimizer-state';
import { blockMatrix, transposesMatrix } from './blocks';
import { type Match, type Matches, matchTensors, ownNames } from './match-tensors';
import { checkVariables, type NamedVariables } from './named-variables';
import { applySteps } from './weight-steps';

const where = 'loadWeights';

/** How strictly weights are loaded. */
export interface LoadOptions {
  /** False: what is missing and unused is reported only. Default: true, it is an error. */
  readonly strict?: boolean | undefined;
  /** Stands before all names in the checkpoint, "module." for instance; tensors without it are left alone. Default: nothing. */
  readonly prefix?: string | undefined;
  /**
   * True: matrices that the model multiplies with stay in the blocks of the file where these are of Q8_0, Q4_0 or Q4_1, and are
   * no variables any more: a quarter of the memory or less, and not trained. Default: false, they become floats.
   */
  readonly keepBlocks?: boolean | undefined;
  /** Gets the state that `saveWeights` saved, too. Default: none; such a state is left alone. */
  readonly optimizer?: tf.Optimizer | undefined;
}

/** What became of the variables of a model and of the tensors of a checkpoint, by name. */
export interface LoadReport {
  /** Tensors whose numbers are in the model now. */
  readonly used: readonly string[];
  /** Variables that keep the numbers they had: optional ones, and others if not strict. */
  readonly missing: readonly string[];
  /** Tensors that nothing asked for, and that the table does not ignore. */
  readonly unused: readonly string[];
  /** Variables whose matrix is the transpose of that in the file. */
  readonly transposed: readonly string[];
  /** Variables whose numbers stand in another order than in the file, transposing apart. */
  readonly permuted: readonly string[];
  /** Variables whose numbers are not those of the file: stored in another type than float32, or computed from them. */
  readonly converted: readonly string[];
  /** Variables that are kept in the blocks of the file, and are none any more. */
  readonly kept: readonly string[];
}

/**
 * Sets the variables of a model to the numbers of a checkpoint.
 *
 * @param model whose variables are set; not used while it loads
 * @param table where each variable lies. Default: tensors have the names of the variables, as `saveWeights` writes them
 * @throws ShapeError for a checkpoint of another model: variables without a tensor, tensors without a variable, other shapes.
 *   Then nothing is set. FileError for the state of another optimizer, where nothing is set, and where the file cannot be read:
 *   then the variables before that place are set
 */
export async function loadWeights(
  model: NamedVariables,
  checkpoint: Checkpoint,
  table?: WeightTable,
  options: LoadOptions = {},
): Promise<LoadReport> {
  const {
    strict = true,
    prefix = '',
    keepBlocks = false,
    optimizer,
  } = normalizeOptions(where, 'options', options, ['strict', 'prefix', 'keepBlocks', 'optimizer']);
  checkArguments(model, checkpoint, table);
  const used = table ?? ownNames(model.variables);
  const matches = matchTensors(model.variables, checkpoint, used, prefix);
  checkMatches(matches, checkpoint, strict);
  for (const pair of matches.tied) await checkTied(checkpoint, pair);
  if (optimizer) await restoreOptimizer(where, optimizer, model.variables, checkpoint);
  const kept: string[] = [];
  for (const tensor of new Set(matches.matched.map((match) => match.tensor))) {
    const { shape } = checkpoint.tensors.get(tensor)!;
    const takers = matches.matched.filter((match) => match.tensor === tensor);
    if (keepBlocks && (await keepAsBlocks(takers, checkpoint))) {
      kept.push(...takers.map(({ name }) => name));
      continue;
    }
    const numbers = await checkpoint.read(tensor);
    for (const match of matches.matched) if (match.tensor === tensor) set(match, numbers, shape);
  }
  return { ...report(matches, checkpoint), kept };
}

/** Whether a tensor stays as it lies: one variable takes it, with which a layer multiplies. */
async function keepAsBlocks([match, ...others]: readonly Match[], checkpoint: Checkpoint): Promise<boolean> {
  const matrix = others.length === 0 && blockMatrix(checkpoint, match!.tensor, match!.steps);
  if (!matrix) return false;
  const weights = await matrix.read();
  const isKept = storeMatrix(match!.variable as tf.Variable, matrix, () => weights);
  if (!isKept) weights.dispose();
  return isKept;
}

function set({ variable, steps }: Match, numbers: Float32Array, shape: readonly number[]): void {
  const own = applySteps(steps, numbers, shape);
  // tfjs keeps the array that it is given, and another variable may take the same tensor.
  tf.tidy(() => variable.assign(tf.tensor(own === numbers ? own.slice() : own, variable.shape)));
}

function report(
  { matched, missing, optional, unused }: Matches,
  { tensors }: Checkpoint,
): Omit<LoadReport, 'kept'> {
  const reorders = (step: WeightStep) => 'transpose' in step && step.transpose.length > 2;
  const isComputed = (step: WeightStep) => 'affine' in step;
  const namesWhere = (holds: (match: Match) => boolean) => matched.filter(holds).map(({ name }) => name);
  return {
    used: [...new Set(matched.map(({ tensor }) => tensor))],
    missing: [...missing, ...optional],
    unused,
    transposed: namesWhere(({ steps }) => steps.some(transposesMatrix)),
    permuted: namesWhere(({ steps }) => steps.some(reorders)),
    converted: namesWhere(
      ({ steps, tensor }) => tensors.get(tensor)!.type !== 'F32' || steps.some(isComputed),
    ),
  };
}

function checkArguments(model: NamedVariables, checkpoint: Checkpoint, table: WeightTable | undefined): void {
  const isCheckpoint =
    typeof checkpoint?.read === 'function' && typeof checkpoint.tensors?.get === 'function';
  if (!isCheckpoint)
    throw new ConfigError(
      where,
      'checkpoint must be what a reader gives, such as `await readSafetensors(file)`',
      {
        checkpoint,
      },
    );
  if (table !== undefined && (typeof table?.variables !== 'object' || table.variables === null))
    throw new ConfigError(where, 'table must hold `variables`: a source for each variable by its name', {
      table,
    });
  checkVariables(where, model?.variables);
}

function checkMatches(
  { missing, unused, unknown, misshapen }: Matches,
  { format }: Checkpoint,
  strict: boolean,
): void {
  const problems = { ...(strict && { missing, unused, unknown }), misshapen };
  const facts = Object.fromEntries(Object.entries(problems).filter(([, names]) => names.length > 0));
  if (Object.keys(facts).length === 0) return;
  const rule = `the ${format} checkpoint must be one of this model: variables missing in it, tensors unused, shapes`;
  throw new ShapeError(where, rule, facts);
}

/** One tensor at a time is not enough here: both are compared. */
async function checkTied(checkpoint: Checkpoint, [copy, original]: readonly [string, string]): Promise<void> {
  const [one, other] = [await checkpoint.readBytes(copy), await checkpoint.readBytes(original)];
  const isSame = one.length === other.length && one.every((byte, n) => byte === other[n]);
  if (isSame) return;
  throw new FileError(where, 'tied tensors must hold the same numbers: the model keeps one of them only', {
    tied: [copy, original],
  });
}
