import type { WeightSource, WeightTable } from '@polyhead/core/layer';

/** Where a layer stands in a model, and in a checkpoint. */
export interface TablePlace {
  /** The layer's `parts.name`: "block0/attention". Default: it has none. */
  readonly name?: string | undefined;
  /** Stands before the names of its tensors: "encoder.layers.0.self_attn.". Default: nothing. */
  readonly prefix?: string | undefined;
}

/** A table by short names, where the layer stands. */
export function placeTable(
  sources: Readonly<Record<string, WeightSource & { readonly tensor: string }>>,
  { name, prefix = '' }: TablePlace,
): WeightTable {
  const placed = Object.entries(sources).map(
    ([variable, source]) =>
      [name ? `${name}/${variable}` : variable, { ...source, tensor: prefix + source.tensor }] as const,
  );
  return { variables: Object.fromEntries(placed) };
}
