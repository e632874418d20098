// Masks of padding. tfjs hands a layer the mask of its first input only, and then the same mask to every later layer, also to
// those of other branches: it is used where it can be that of the keys, and where the graph says that the input has one.
import { allOf, ConfigError, dense, type Mask, ShapeError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { layers, SymbolicTensor } from '@tensorflow/tfjs-layers';

/** Masks of one call, each 0 or false where something is hidden. */
export interface CallMasks {
  readonly mask: Mask | undefined;
  /** [B, Skv] each: keys that count. */
  readonly keys: readonly tf.Tensor[];
  /** [Sq, Skv], [B, Sq, Skv] or [B, H, Sq, Skv] each: keys that a query may see. */
  readonly pairs?: readonly tf.Tensor[];
  /** [B, Sq] each: queries that count. */
  readonly rows?: readonly tf.Tensor[];
}

/** All of them as one mask; undefined where nothing is hidden. */
export function masksOf(layer: string, masks: CallMasks): Mask | undefined {
  const tensors = tensorsOf(layer, masks).map((tensor) => dense(tensor));
  const all = [...(masks.mask ? [masks.mask] : []), ...tensors];
  return all.length > 1 ? allOf(...all) : all[0];
}

/**
 * The same, but a row that would see nothing sees all keys alike, as in Keras: a bias of -1e9 on the whole row leaves nothing
 * of its scores in float32. The described mask must be causal.
 */
export function fullyMaskedRowsSeeAll(
  layer: string,
  masks: CallMasks,
  [Sq, Skv]: readonly [number, number],
): { readonly mask: Mask | undefined; readonly bias: tf.Tensor | undefined } {
  const tensors = tensorsOf(layer, masks);
  const [first, ...others] = tensors;
  if (!first) return { mask: masks.mask, bias: undefined };
  // A row that sees all is not causal, so that this mask is a tensor too; Keras counts queries and keys from their first.
  const lower = masks.mask
    ? [
        tf.greaterEqual(
          tf.reshape(tf.range(0, Sq), [1, 1, Sq, 1]),
          tf.reshape(tf.range(0, Skv), [1, 1, 1, Skv]),
        ),
      ]
    : [];
  const shown = [...others, ...lower].reduce((one, other) => tf.logicalAnd(one, other), first);
  const sees = tf.any(shown, -1, true); // [B, H, Sq, 1]
  const mask = dense(tf.logicalOr(shown, tf.logicalNot(sees)));
  return { mask, bias: tf.mul(tf.sub(1, tf.cast(sees, 'float32')), -1e9) };
}

/** Masks as bool of rank 4, which broadcast to [B, H, Sq, Skv]. */
function tensorsOf(layer: string, { keys, pairs = [], rows = [] }: CallMasks): tf.Tensor[] {
  const bool = (x: tf.Tensor) => (x.dtype === 'bool' ? x : tf.notEqual(x, tf.scalar(0, x.dtype)));
  const checked = (x: tf.Tensor, ranks: readonly number[], shape: string) => {
    if (ranks.includes(x.rank)) return bool(x);
    throw new ShapeError(layer, `a mask must be ${shape}`, { mask: x });
  };
  return [
    ...keys.map((x) => tf.expandDims(tf.expandDims(checked(x, [2], '[B, Skv]'), 1), 1)),
    ...rows.map((x) => tf.expandDims(tf.expandDims(checked(x, [2], '[B, Sq]'), 1), -1)),
    ...pairs.map((x) => {
      const pairs = checked(x, [2, 3, 4], '[Sq, Skv], [B, Sq, Skv] or [B, H, Sq, Skv]');
      return x.rank === 4 ? pairs : tf.expandDims(x.rank === 3 ? pairs : tf.expandDims(pairs, 0), 1);
    }),
  ];
}

/**
 * The mask that tfjs hands to a call, where it is one of the padding of these keys.
 *
 * @param x [B, S, E], the layer's first input
 */
export function handedMask(layer: layers.Layer, x: tf.Tensor, kwargs: { mask?: unknown }): tf.Tensor[] {
  const { mask } = kwargs ?? {};
  const one = (Array.isArray(mask) ? mask[0] : mask) as tf.Tensor | undefined | null;
  if (!one || `${one.shape}` !== `${x.shape.slice(0, 2)}`) return [];
  const meant = layer.inboundNodes.map(({ inputTensors: [first] }) => carriesMask(first!));
  if (meant.includes(true) && meant.includes(false))
    throw new ConfigError(
      layer.name,
      "some of its inputs have a mask and others not, and tfjs does not say whose it hands on: give masks as inputs, inputs: ['query', 'keys'], or make two layers",
      { 'inputs with a mask': meant },
    );
  return meant.length === 0 || meant.includes(true) ? [one] : [];
}

/** Whether the graph in front of a tensor gives it a mask. */
function carriesMask({ sourceLayer, inputs }: SymbolicTensor): boolean {
  if (!sourceLayer?.supportsMasking) return false;
  if ((sourceLayer as { returnSequences?: boolean }).returnSequences === false) return false;
  const startsOne = ['Embedding', 'Masking', 'PolyheadEmbedding'].includes(sourceLayer.getClassName());
  return startsOne || inputs.some((input) => carriesMask(input));
}
