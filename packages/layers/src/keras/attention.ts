// Keras's MultiHeadAttention and GroupQueryAttention as layers of this package.
import { ConfigError, UnsupportedError } from '@polyhead/core';
import type { AttentionInput } from '../attention-layer';
import { spell } from '../kinds';
import { type Call, type GraphLayer, type Json, Ref } from './graph';
import type { GraphMasks } from './masks';

const where = 'loadKerasModel';

/** What Polyhead calls each of Keras's layers. */
export const variantOf: Readonly<Record<string, string>> = {
  MultiHeadAttention: 'MultiHeadAttention',
  GroupQueryAttention: 'GroupedQueryAttention',
  GroupedQueryAttention: 'GroupedQueryAttention', // the name of its class within Keras
};

/** Entries of configs that say nothing of the numbers that a loaded layer gives. */
const silent = new Set([
  ...['name', 'trainable', 'dtype', 'seed', 'flash_attention', 'batch_input_shape'],
  ...['kernel_initializer', 'bias_initializer', 'query_shape', 'key_shape', 'value_shape'],
]);
const known: Readonly<Record<string, readonly string[]>> = {
  MultiHeadAttention: [
    ...['num_heads', 'key_dim', 'value_dim', 'dropout', 'use_bias', 'output_shape', 'attention_axes'],
  ],
  GroupedQueryAttention: ['head_dim', 'num_query_heads', 'num_key_value_heads', 'dropout', 'use_bias'],
};
/** The parameters of a call, in order. */
const parameters = [
  ...['query', 'value', 'key', 'query_mask', 'value_mask', 'key_mask', 'attention_mask'],
  ...['return_attention_scores', 'training', 'use_causal_mask'],
];

/**
 * The same attention as an `AttentionLayer`: calls get their masks as inputs, since tfjs hands on that of the query only.
 *
 * @throws UnsupportedError for options that have no counterpart
 */
export function translated(layer: GraphLayer, masks: GraphMasks): GraphLayer {
  const { name, config } = layer;
  const calls = layer.calls.map((call) => argumentsOf(layer, call));
  const isSelf = calls.every(({ query, value, key }) => query.key === value.key && query.key === key.key);
  const isOneMemory = calls.every(({ value, key }) => value.key === key.key);
  const isCausal =
    same(
      layer,
      'use_causal_mask',
      calls.map((call) => call.isCausal),
    ) ?? false;
  const scores =
    same(
      layer,
      'return_attention_scores',
      calls.map((call) => call.scores),
    ) ?? false;
  const hidden = calls.map((call) => masksOf(call, { layer, masks }));
  const hasMask = hidden.some(({ keys, rows, pairs }) => keys ?? rows ?? pairs);
  if (hidden.some(({ pairs }) => pairs) && hidden.some(({ pairs }) => !pairs))
    throw unsupported(layer, ['some of its calls have an attention_mask, others not']);
  const inputs = calls.map(({ query, key, value }, n): (readonly [AttentionInput, Ref])[] => {
    const { keys, rows, pairs } = hidden[n]!;
    return [
      ['query', query],
      ...(isSelf ? [] : [['key', key] as const]),
      ...(isOneMemory ? [] : [['value', value] as const]),
      ...(hidden.some((other) => other.keys) ? [['keys', keys ?? masks.none(value)] as const] : []),
      ...(hidden.some((other) => other.rows) ? [['rows', rows ?? masks.none(query)] as const] : []),
      ...(pairs ? [['pairs', pairs] as const] : []),
    ];
  });
  // Rows that see nothing: Keras 3 gives zeros where it computes weights, and else the mean of all values, as Keras 2 does.
  const parts = {
    attention: { kind: variantOf[layer.className]!, config: attentionConfig(layer) },
    ...(isCausal && { mask: { kind: 'causal' } }),
  };
  return {
    ...layer,
    className: 'PolyheadAttention',
    module: '',
    config: {
      name,
      trainable: config.trainable ?? true,
      written: spell(parts),
      inputs: inputs[0]?.map(([role]) => role),
      use_padding: false,
      ...(hasMask && {
        fully_masked_rows: masks.version > 2 && (scores || config.dropout) ? 'zeros' : 'mean',
      }),
      // Keras counts queries and keys from their first: row 0 sees key 0.
      ...(isCausal && !isSelf && { query_start: 0 }),
      return_weights: scores,
      axes: config.attention_axes ?? undefined,
    },
    calls: inputs.map((list) => ({ args: [list.map(([, ref]) => ref)], kwargs: {} })),
  };
}

/** The config of the variant; widths come from the inputs. */
function attentionConfig(layer: GraphLayer): Json {
  const { className, config } = layer;
  const options = known[variantOf[className]!]!;
  const unknown = Object.entries(config).filter(
    ([option, value]) =>
      !silent.has(option) && !options.includes(option) && value !== null && value !== false,
  );
  if (unknown.length > 0)
    throw unsupported(
      layer,
      unknown.map(([option, value]) => `${option} is ${JSON.stringify(value)}`),
    );
  const { use_bias: useBias = true, dropout = 0 } = config;
  const shared = { useBias, dropout: dropout ?? 0 };
  if (className !== 'MultiHeadAttention')
    return {
      numHeads: config.num_query_heads,
      numKeyValueHeads: config.num_key_value_heads,
      headDim: config.head_dim,
      ...shared,
    };
  const { key_dim: headDim, value_dim: valueDim, output_shape: output } = config;
  const width = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (Array.isArray(width))
    throw unsupported(layer, [
      `output_shape has ${width.length} axes: only the last axis of the output can have a size of its own`,
    ]);
  return {
    numHeads: config.num_heads,
    headDim,
    valueHeadDim: valueDim ?? headDim,
    ...(width !== null && width !== undefined && { outputDim: width }),
    ...shared,
  };
}

interface Arguments {
  readonly query: Ref;
  readonly value: Ref;
  readonly key: Ref;
  readonly queryMask: Ref | undefined;
  readonly valueMask: Ref | undefined;
  readonly keyMask: Ref | undefined;
  readonly pairs: Ref | undefined;
  readonly isCausal: boolean;
  readonly scores: boolean;
}

function argumentsOf(layer: GraphLayer, { args, kwargs }: Call): Arguments {
  const list = args.length === 1 && Array.isArray(args[0]) ? args[0] : args;
  const positional = list.map((value, n) => [parameters[n] ?? `argument ${n}`, value] as const);
  const named: Json = { ...Object.fromEntries(positional), ...kwargs };
  const unknown = Object.entries(named).filter(
    ([name, value]) =>
      value !== null &&
      value !== false &&
      (!parameters.includes(name) || (name === 'training' && value === true)),
  );
  const tensor = (name: string): Ref | undefined => (named[name] instanceof Ref ? named[name] : undefined);
  const [query, value] = [tensor('query'), tensor('value')];
  if (!query || !value || unknown.length > 0)
    throw new ConfigError(
      where,
      `calls of ${layer.className} must have a query and a value, and known arguments`,
      {
        layer: layer.name,
        arguments: Object.keys(named),
      },
    );
  return {
    query,
    value,
    key: tensor('key') ?? value,
    queryMask: tensor('query_mask'),
    valueMask: tensor('value_mask'),
    keyMask: tensor('key_mask'),
    pairs: tensor('attention_mask'),
    isCausal: named.use_causal_mask === true,
    scores: named.return_attention_scores === true,
  };
}

/** The masks of a call: those that its tensors have, else those that it was given. */
function masksOf(
  { query, value, key, queryMask, valueMask, keyMask, pairs }: Arguments,
  { layer, masks }: { readonly layer: GraphLayer; readonly masks: GraphMasks },
): { readonly keys: Ref | undefined; readonly rows: Ref | undefined; readonly pairs: Ref | undefined } {
  const ofValue = masks.of(value, layer) ?? valueMask;
  const ofKey = key.key === value.key ? keyMask : (masks.of(key, layer) ?? keyMask);
  const ofKeys = [ofValue, ofKey].filter((mask) => mask !== undefined);
  return { keys: masks.all(ofKeys), rows: masks.of(query, layer) ?? queryMask, pairs };
}

/** What all calls have in common. */
function same<T>(layer: GraphLayer, what: string, values: readonly T[]): T | undefined {
  if (new Set(values).size <= 1) return values[0];
  throw unsupported(layer, [`${what} differs between its calls: ${values.join(', ')}`]);
}

function unsupported({ name, className }: GraphLayer, reasons: readonly string[]): UnsupportedError {
  return new UnsupportedError(where, `${className} "${name}" cannot be loaded`, reasons);
}
