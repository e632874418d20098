// Which tensor of a checkpoint each variable of a model takes its numbers from, and what is left on either side.
import type { NamedVariable } from '@polyhead/core';
import type { WeightSource, WeightStep, WeightTable } from '@polyhead/core/layer';
import type { Checkpoint } from '../checkpoint';
import { optimizerKey, optimizerPrefix } from '../save/optimizer-names';
import { shapeAfter } from './weight-steps';

/** A variable, and the tensor that its numbers come from. */
export interface Match extends NamedVariable {
  /** Its name in the checkpoint. */
  readonly tensor: string;
  /** What is done to its numbers. */
  readonly steps: readonly WeightStep[];
}

/** How a model and a checkpoint fit. */
export interface Matches {
  /** In the order of the model. */
  readonly matched: readonly Match[];
  /** Variables that must have a tensor, and have none. */
  readonly missing: readonly string[];
  /** Variables that do without. */
  readonly optional: readonly string[];
  /** Tensors that nothing asks for. */
  readonly unused: readonly string[];
  /** Variables of the table that the model does not have. */
  readonly unknown: readonly string[];
  /** What has another shape than its variable, in words. */
  readonly misshapen: readonly string[];
  /** Tensors that must hold the same numbers as another. */
  readonly tied: readonly (readonly [string, string])[];
}

/** The table of a checkpoint whose tensors are named as the variables of the model. */
export function ownNames(variables: readonly Pick<NamedVariable, 'name'>[]): WeightTable {
  return { variables: Object.fromEntries(variables.map(({ name }) => [name, { tensor: name }])) };
}

/** @param prefix stands before each name of the table; tensors without it are left alone */
export function matchTensors(
  variables: readonly NamedVariable[],
  checkpoint: Checkpoint,
  table: WeightTable,
  prefix: string,
): Matches {
  const { tensors } = checkpoint;
  const sourceOf = (name: string) =>
    Object.hasOwn(table.variables, name) ? table.variables[name] : undefined;
  const has = (name: string) => tensors.has(prefix + name);
  const matched = variables.flatMap(({ name, variable }): Match[] => {
    const source = sourceOf(name);
    const tensor = tensorOf(source, has);
    return tensor === undefined
      ? []
      : [{ name, variable, tensor: prefix + tensor, steps: source?.steps ?? [] }];
  });
  const without = variables
    .map(({ name }) => name)
    .filter((name) => tensorOf(sourceOf(name), has) === undefined);
  const tied = Object.entries(table.tied ?? {}).map(
    (pair) => pair.map((name) => prefix + name) as [string, string],
  );
  const used = new Set([...matched.map(({ tensor }) => tensor), ...tied.map(([copy]) => copy)]);
  const ignored = (table.ignored ?? []).map((pattern) => matcher(prefix + pattern));
  const names = new Set(variables.map(({ name }) => name));
  const keepsOptimizer = checkpoint.metadata.has(optimizerKey);
  const isOfModel = (name: string) =>
    name.startsWith(prefix) && !(keepsOptimizer && name.startsWith(optimizerPrefix));
  return {
    matched,
    missing: without.filter((name) => !sourceOf(name)?.optional),
    optional: without.filter((name) => sourceOf(name)?.optional),
    unused: [...tensors.keys()].filter(
      (name) => isOfModel(name) && !used.has(name) && !ignored.some((isIgnored) => isIgnored(name)),
    ),
    unknown: Object.keys(table.variables).filter((name) => !names.has(name)),
    misshapen: matched.flatMap((match) => misfit(match, checkpoint)),
    tied: tied.filter((pair) => pair.every((name) => tensors.has(name))),
  };
}

/** The first of the names of a source that there is. */
export function tensorOf(
  source: WeightSource | undefined,
  has: (name: string) => boolean,
): string | undefined {
  return [source?.tensor ?? []].flat().find(has);
}

/** Whether a text is the pattern, in which `*` stands for any text. No regular expression: those can take for ever. */
function matcher(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  return (text) => {
    if (last === undefined) return text === first;
    let at = first.length;
    for (const part of rest) {
      const next = text.indexOf(part, at);
      if (next < 0) return false;
      at = next + part.length;
    }
    return text.startsWith(first) && text.endsWith(last) && text.length - last.length >= at;
  };
}

function misfit({ name, variable, tensor, steps }: Match, { tensors }: Checkpoint): string[] {
  const { shape } = tensors.get(tensor)!;
  const after = shapeAfter(steps, shape);
  if (typeof after === 'string') return [`${name} of ${tensor}: ${after}`];
  if (`${after}` === `${variable.shape}`) return [];
  const became = steps.length > 0 ? `, which becomes [${after.join(', ')}]` : '';
  return [`${name} [${variable.shape.join(', ')}] of ${tensor} [${shape.join(', ')}]${became}`];
}
