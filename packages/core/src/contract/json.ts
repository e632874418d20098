// Layers, position methods, masks, kernels and caches as plain JSON, and back: what one of them is made by has a `kind`, its
// name in JSON, and names the parameters whose values stand beside it.
import { ConfigError } from './errors';

/** A class or a function whose results have JSON: `{ kind, ...one entry for each parameter }`. */
export interface Kind {
  /** Its name in JSON. */
  readonly kind: string;
  /** Its parameters in order; the last may be `...name`, which is a list in JSON. */
  readonly parameters: readonly string[];
}

/**
 * The function, with the name and the parameters that JSON knows it by.
 *
 * @typeParam F the function's own type, which is kept
 */
export function withKind<F extends (...args: never[]) => unknown>(
  kind: string,
  parameters: readonly string[],
  f: F,
): F & Kind {
  return Object.assign(f, { kind, parameters });
}

/** Parameters that hold plain data, in which nothing is made again. */
const plainData = ['config', 'shape', 'options'];

type Json = Readonly<Record<string, unknown>>;

/**
 * What JSON describes: a layer with its position method and kernel, a mask, a cache; or several of them, as `toConfig` wrote
 * them. What is shared is made once.
 *
 * @param json plain data, such as `JSON.parse(JSON.stringify(layer))`
 * @param kinds the exports that it may name: `[MultiHeadAttention, rotary, causal]`
 * @throws ConfigError for a kind that is not among them, and whatever they throw
 * @example
 * const layer = fromConfig<MultiHeadAttention>(json, [MultiHeadAttention, rotary]);
 */
export function fromConfig<T = unknown>(json: unknown, kinds: readonly Kind[]): T {
  const known = kindsByName(kinds);
  const { shared, value } = isShared(json) ? json : { shared: {}, value: json };
  const made = new Map<string, unknown>();
  const constructed: unknown[] = [];
  const build = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(build);
    if (!isObject(part)) return part;
    if (typeof part.ref === 'string') return sharedPart(part.ref);
    if (typeof part.kind === 'string') return make(part);
    return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, build(entry)]));
  };
  const sharedPart = (name: string) => {
    if (!made.has(name)) {
      if (!Object.hasOwn(shared, name))
        throw new ConfigError('fromConfig', 'what is shared must be described', { ref: name });
      made.set(name, build(shared[name]));
    }
    return made.get(name);
  };
  const make = (part: Json) => {
    const kind = known.get(part.kind as string);
    if (!kind) {
      const facts = { kind: part.kind, kinds: [...known.keys()] };
      throw new ConfigError('fromConfig', `pass the export that makes "${part.kind}" as well`, facts);
    }
    const names = kind.parameters.map((parameter) => parameter.replace('...', ''));
    const unknown = Object.keys(part).filter((name) => name !== 'kind' && !names.includes(name));
    if (unknown.length > 0) {
      const facts = { kind: part.kind, unknown, known: names };
      throw new ConfigError('fromConfig', 'JSON may hold known entries only: none is ignored', facts);
    }
    const args = kind.parameters.flatMap((parameter) => {
      const name = parameter.replace('...', '');
      const arg = plainData.includes(name) ? part[name] : build(part[name]);
      return parameter === name ? [arg] : ((arg ?? []) as unknown[]);
    });
    while (args.length > 0 && args.at(-1) === undefined) args.pop();
    const result = construct(kind, args);
    constructed.push(result);
    return result;
  };
  try {
    return build(value) as T;
  } catch (error) {
    for (const part of constructed) if (isDisposable(part)) part.dispose();
    throw error;
  }
}

/**
 * The JSON of a layer, or of any lists and objects of layers, masks and caches. What occurs twice, such as a position method
 * of several layers, stands once, under `shared`, by its name.
 *
 * @throws ConfigError for what has no JSON, and for two things shared by one name
 */
export function toConfig(value: unknown): unknown {
  const uses = new Map<object, number>();
  const shared: Record<string, unknown> = {};
  const names = new Map<object, string>();
  const count = (part: unknown): void => {
    if (typeof part === 'function') throw new ConfigError('toConfig', 'a function has no JSON', { part });
    if (typeof part !== 'object' || part === null) return;
    const json = jsonOf(part);
    if (json !== part) uses.set(part, (uses.get(part) ?? 0) + 1);
    if (json === part || uses.get(part) === 1) for (const entry of Object.values(json)) count(entry);
  };
  const write = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(write);
    if (typeof part !== 'object' || part === null) return part;
    if ((uses.get(part) ?? 0) < 2) return writeEntries(jsonOf(part));
    const known = names.get(part);
    if (known !== undefined) return { ref: known };
    const json = jsonOf(part) as Json;
    const name = nameOf(json, Object.keys(shared));
    names.set(part, name);
    shared[name] = undefined; // the name is taken, whatever is written inside
    shared[name] = writeEntries(json);
    return { ref: name };
  };
  const writeEntries = (json: object) =>
    Array.isArray(json)
      ? json.map(write)
      : Object.fromEntries(
          Object.entries(json)
            .filter(([, entry]) => entry !== undefined)
            .map(([name, entry]) => [name, write(entry)]),
        );
  count(value);
  const written = write(value);
  return Object.keys(shared).length > 0 ? { shared, value: written } : written;
}

function kindsByName(kinds: readonly Kind[]): Map<string, Kind> {
  const known = new Map<string, Kind>();
  if (!Array.isArray(kinds))
    throw new ConfigError('fromConfig', 'kinds must be a list of exports', { kinds });
  for (const kind of kinds) {
    if (typeof kind?.kind !== 'string' || !Array.isArray(kind.parameters))
      throw new ConfigError('fromConfig', 'each export must have a kind, as MultiHeadAttention has', {
        kind,
      });
    const other = known.get(kind.kind);
    if (other && other !== kind)
      throw new ConfigError('fromConfig', 'no two exports may have one kind', { kind: kind.kind });
    known.set(kind.kind, kind);
  }
  return known;
}

function isShared(json: unknown): json is { shared: Json; value: unknown } {
  return isObject(json) && isObject(json.shared) && 'value' in json;
}

function isDisposable(part: unknown): part is { dispose(): void } {
  return isObject(part) && typeof part.dispose === 'function';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

function construct(kind: Kind, args: readonly unknown[]): unknown {
  const isClass = /^class\b/.test(Function.prototype.toString.call(kind));
  if (isClass) return new (kind as unknown as new (...all: readonly unknown[]) => unknown)(...args);
  return (kind as unknown as (...all: readonly unknown[]) => unknown)(...args);
}

function jsonOf(part: object): object {
  return 'toJSON' in part && typeof part.toJSON === 'function' ? part.toJSON() : part;
}

/** The name it was given, else its kind and a number. */
function nameOf(json: Json, taken: readonly string[]): string {
  const { name } = (json.parts ?? {}) as { name?: unknown };
  if (typeof name !== 'string') {
    let n = 0;
    while (taken.includes(`${json.kind}${n}`)) n++;
    return `${json.kind}${n}`;
  }
  if (taken.includes(name))
    throw new ConfigError('toConfig', 'two shared parts must not have one name', { name });
  return name;
}
