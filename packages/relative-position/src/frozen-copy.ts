/** A copy of plain JSON, frozen throughout: what its caller does to lists of its own later changes nothing. */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map((entry) => frozenCopy(entry))
    : Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, frozenCopy(entry)]));
  return Object.freeze(copy) as T;
}
