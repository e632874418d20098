// The exports that layers may be made of again, and the description of a layer's parts as a text that tfjs stores unharmed.
import { ConfigError, fromConfig, type Kind, toConfig } from '@polyhead/core';

const known = new Map<string, Kind>();

/** @throws ConfigError for what has no kind, and for two exports of one kind */
export function addKinds(kinds: readonly Kind[]): void {
  fromConfig(null, kinds); // judges the list
  for (const kind of kinds) {
    const other = known.get(kind.kind);
    if (other && other !== kind)
      throw new ConfigError('registerLayers', 'no two exports may have one kind', { kind: kind.kind });
  }
  for (const kind of kinds) known.set(kind.kind, kind);
}

/**
 * Makes what JSON describes, with the exports that were registered.
 *
 * @throws ConfigError for a kind that was not registered
 */
export function makeParts<T>(layer: string, json: unknown): T {
  const missing = kindsIn(json).filter((kind) => !known.has(kind));
  if (missing.length === 0) return fromConfig<T>(json, [...known.values()]);
  const rule = `call registerLayers with the export that makes "${missing[0]}" first`;
  throw new ConfigError('registerLayers', rule, { layer, missing, registered: [...known.keys()] });
}

function kindsIn(json: unknown): string[] {
  if (typeof json !== 'object' || json === null) return [];
  const { kind } = json as { readonly kind?: unknown };
  // A config is plain data: its `kind`s, as those of norms, are options.
  const entries = Object.entries(json).filter(([name]) => name !== 'config' && name !== 'options');
  const inner = entries.flatMap(([, entry]) => kindsIn(entry));
  return [...(typeof kind === 'string' ? [kind] : []), ...inner];
}

/**
 * JSON of parts, as one text. tfjs writes every text of a config in snake case and reads it in camel case; this text has no
 * capitals and no underscores, so that both leave it as it is: `^x` is X, `^-` is _, `^^` is ^.
 */
export function spell(parts: unknown): string {
  const json = JSON.stringify(toConfig(parts));
  return json.replace(/[\p{Lu}_^]/gu, (letter) => `^${letter === '_' ? '-' : letter.toLowerCase()}`);
}

/** JSON out of a text that `spell` wrote. */
export function unspell(text: string): unknown {
  return JSON.parse(
    text.replace(/\^(.)/gu, (_, letter: string) => (letter === '-' ? '_' : letter.toUpperCase())),
  );
}
