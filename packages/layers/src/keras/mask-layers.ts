// Masks of a Keras model as tensors of its graph: tfjs would hand attention the mask of its query only.
import { checkOneOf } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { layers } from '@tensorflow/tfjs-layers';
import { type LayerOptions, listOfShapes, listOfTensors, type Shape } from '../wrapped-layer';

/**
 * How a mask [B, S] follows from inputs: `tokens` that are not `value`, `rows` with a number that is not `value`, `all` rows, masks
 * of the same tokens joined by `or` and `and`, and those of tokens one behind the other by `concat`.
 */
export type MaskRule = 'tokens' | 'rows' | 'all' | 'or' | 'and' | 'concat';

interface MaskLayerOptions extends LayerOptions {
  readonly rule: MaskRule;
  readonly value?: number | undefined;
}

/** The mask of `Embedding`, `Masking` and merged tensors, as float32 of 0 and 1, [B, S]. */
export class MaskLayer extends layers.Layer {
  /** Its name in files. */
  static readonly className = 'PolyheadMask';
  private readonly rule: MaskRule;
  private readonly value: number;

  constructor({ rule, value = 0, ...options }: MaskLayerOptions) {
    super(options);
    this.rule = rule;
    this.value = value;
    checkOneOf('MaskLayer', 'rule', rule, ['tokens', 'rows', 'all', 'or', 'and', 'concat']);
    this.supportsMasking = true;
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] {
    const shapes = listOfShapes(inputShape);
    const [first] = shapes;
    if (this.rule === 'concat') return [first![0]!, sumOf(shapes.map(([, S]) => S!))];
    return this.rule === 'rows' || this.rule === 'all' ? first!.slice(0, -1) : [...first!];
  }

  override call(inputs: tf.Tensor | tf.Tensor[], _kwargs: object): tf.Tensor {
    return tf.tidy(() => {
      const all = listOfTensors(inputs);
      const x = all[0]!;
      const differs = () => tf.cast(tf.notEqual(x, tf.scalar(this.value, x.dtype)), 'float32');
      if (this.rule === 'tokens') return differs();
      if (this.rule === 'all') return tf.ones(x.shape.slice(0, -1));
      if (this.rule === 'rows') return tf.max(differs(), -1);
      if (this.rule === 'concat') return tf.concat([...all], 1);
      return all.reduce((one, other) =>
        this.rule === 'or' ? tf.maximum(one, other) : tf.minimum(one, other),
      );
    });
  }

  override computeMask(): tf.Tensor {
    return null as unknown as tf.Tensor;
  }

  /** What tfjs writes into files of models, and makes the layer of again. */
  override getConfig() {
    return { ...super.getConfig(), rule: this.rule, value: this.value };
  }
}

/** null where one is not known. */
function sumOf(lengths: readonly (number | null)[]): number | null {
  return lengths.reduce((sum, length) => (sum === null || length === null ? null : sum + length));
}

/** The mean of rows that a mask shows, as Keras's GlobalAveragePooling1D behind a mask: [B, S, E] and [B, S] to [B, E]. */
export class MaskedMeanLayer extends layers.Layer {
  /** Its name in files. */
  static readonly className = 'PolyheadMaskedMean';

  constructor(options: LayerOptions = {}) {
    super(options);
    this.supportsMasking = true;
  }

  override computeOutputShape(inputShape: Shape | Shape[]): (number | null)[] {
    const [B, , E] = listOfShapes(inputShape)[0]!;
    return [B!, E!];
  }

  override call(inputs: tf.Tensor | tf.Tensor[], _kwargs: object): tf.Tensor {
    return tf.tidy(() => {
      const [x, mask] = listOfTensors(inputs);
      const shown = tf.expandDims(mask!, -1); // [B, S, 1]
      return tf.div(tf.sum(tf.mul(x!, shown), 1), tf.sum(shown, 1));
    });
  }

  override computeMask(): tf.Tensor {
    return null as unknown as tf.Tensor;
  }
}
