import { type NamedVariable, ShapeError } from '@polyhead/core';

/** Anything that has variables with names: a layer, a model. */
export interface NamedVariables {
  /** By their whole names, each of which is there once. */
  readonly variables: readonly NamedVariable[];
}

/** @throws ShapeError for names that are there twice, and variables that hold no float32 numbers */
export function checkVariables(where: string, variables: readonly NamedVariable[]): void {
  if (!Array.isArray(variables))
    throw new ShapeError(where, 'a model must have `variables`: a list of names and variables', {
      variables,
    });
  const names = new Set<string>();
  for (const { name, variable } of variables) {
    if (names.has(name))
      throw new ShapeError(where, 'each variable must have a name of its own: give layers `parts.name`', {
        name,
      });
    names.add(name);
    if (variable.isDisposed || variable.dtype !== 'float32')
      throw new ShapeError(where, `${name} must be a float32 variable that is not disposed`, {
        [name]: variable,
      });
  }
}
