// Results of the oracle, kept by case: kernels, variants and backends that run in one process share them.

const results = new Map<string, unknown>();
const identities = new WeakMap<object, number>();
let objects = 0;

/**
 * What `compute` gave for this key the first time.
 *
 * @param key what decides the result: a string, plain JSON, and functions or objects that count by identity where they
 *   stand in `of`
 */
export function remember<T>(key: unknown, of: readonly object[], compute: () => T): T {
  const name = JSON.stringify([of.map(identityOf), key]);
  if (!results.has(name)) results.set(name, compute());
  return results.get(name) as T;
}

function identityOf(object: object): number {
  if (!identities.has(object)) identities.set(object, objects++);
  return identities.get(object)!;
}
