// All that Polyhead throws: one base, three kinds. Messages name the function, what must hold, and what came.

const mark = Symbol.for('polyhead.AttentionError');

/** The base of all errors thrown here. Use `isAttentionError`: `instanceof` fails across two installed copies. */
export class AttentionError extends Error {
  /** The name of its class. */
  override readonly name: string = 'AttentionError';
  /** By which `isAttentionError` knows errors of other installed copies. */
  readonly [mark] = true;

  /**
   * @param where the function that refuses
   * @param rule what must hold
   * @param facts what came, one line each, as `name: value`
   */
  constructor(where: string, rule: string, facts: Readonly<Record<string, unknown>> = {}) {
    super([`${where}: ${rule}`, ...factLines(facts)].join('\n'));
  }
}

/** Sizes or dtypes disagree, or a tensor is disposed. */
export class ShapeError extends AttentionError {
  /** The name of its class. */
  override readonly name = 'ShapeError';
}

/** Options cannot describe a layer or a call. */
export class ConfigError extends AttentionError {
  /** The name of its class. */
  override readonly name = 'ConfigError';
}

/** Nothing at hand can run the call; the reasons are in the message. */
export class UnsupportedError extends AttentionError {
  /** The name of its class. */
  override readonly name = 'UnsupportedError';

  constructor(
    where: string,
    rule: string,
    /** Why not, one sentence each. */
    readonly reasons: readonly string[],
    facts: Readonly<Record<string, unknown>> = {},
  ) {
    super(where, rule, {
      ...facts,
      ...Object.fromEntries(reasons.map((reason, i) => [`reason ${i + 1}`, reason])),
    });
  }
}

/** True for every error of this library, whichever copy of it threw. */
export function isAttentionError(value: unknown): value is AttentionError {
  return typeof value === 'object' && value !== null && mark in value;
}

function factLines(facts: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(facts);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => `  ${name.padEnd(width)}  ${formatFact(facts[name])}`);
}

function formatFact(fact: unknown): string {
  if (isTensorLike(fact))
    return `[${fact.shape.join(', ')}] ${fact.dtype}${fact.isDisposed ? ' (disposed)' : ''}`;
  if (Array.isArray(fact) || ArrayBuffer.isView(fact))
    return formatList(Array.from(fact as ArrayLike<unknown>));
  if (typeof fact === 'function') return `function ${fact.name}`;
  return typeof fact === 'object' && fact !== null ? formatObject(fact) : String(fact);
}

function formatList(list: readonly unknown[]): string {
  const shown = list
    .slice(0, 12)
    .map((entry) => (Array.isArray(entry) ? formatList(entry) : formatFact(entry)));
  return `[${shown.join(', ')}${list.length > shown.length ? `, … ${list.length} in all` : ''}]`;
}

/** Its own names are enough: what they hold may be large. */
function formatObject(fact: object): string {
  return `{ ${Object.keys(fact).slice(0, 12).join(', ')} }`;
}

function isTensorLike(x: unknown): x is { shape: readonly number[]; dtype: string; isDisposed?: boolean } {
  return typeof x === 'object' && x !== null && 'shape' in x && Array.isArray(x.shape) && 'dtype' in x;
}
