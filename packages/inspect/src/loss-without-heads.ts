// What a whole model loses without some of its heads: one by one, in an order, and greedily.
import { type AttentionKernel, ConfigError, composed } from '@polyhead/core';
import { wrapKernel } from '@polyhead/core/kernel';
import { checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { silenceHeads } from './silence-heads';

/** A head of a model. */
export interface HeadPlace {
  /** Counted from 0. */
  readonly layer: number;
  /** Counted from 0. */
  readonly head: number;
}

/** A head, and the loss of the model once it is silenced. */
export interface HeadLoss extends HeadPlace {
  /** As the loss is given: nats, of a cross-entropy. */
  readonly loss: number;
}

/**
 * One pass of the model over the same tokens, with the kernel that it is given:
 * `(kernel) => crossEntropy(model.apply(ids, { kernel }).logits, targets)`.
 */
export type ModelLoss = (kernel: AttentionKernel) => tf.Scalar;

/** How the model is run. */
export interface SilencingOptions {
  /** What computes attention, in place of the layers' own kernel. Default: `composed()`. */
  readonly kernel?: AttentionKernel | undefined;
  /** Is told after each pass how many are done, of how many. Default: nobody. */
  readonly onPass?: ((done: number, of: number) => void) | undefined;
}

/**
 * The loss of a whole model, and with each of its heads silenced, one at a time (Michel et al. 2019, 1905.10650). One pass for
 * each head, and one more. Nothing is left in memory.
 *
 * @returns heads by layer, then by head
 * @throws whatever the model throws
 * @example
 * const { whole, heads } = await silenceEach(loss);
 * const worst = heads.reduce((most, one) => (one.loss > most.loss ? one : most));
 */
export async function silenceEach(
  loss: ModelLoss,
  options: SilencingOptions = {},
): Promise<{ readonly whole: number; readonly heads: readonly HeadLoss[] }> {
  const passes = new Passes('silenceEach', loss, options);
  const { whole, places } = await passes.whole((count) => count + 1);
  const heads: HeadLoss[] = [];
  for (const place of places) heads.push({ ...place, loss: await passes.without([place]) });
  return { whole, heads };
}

/**
 * The loss as heads are silenced one after another in the order given, and stay so: with those of `silenceEach`, sorted by
 * their loss, the curve of Michel et al. 2019, whose order is that of heads alone. Nothing is left in memory.
 *
 * @param together how many are silenced before the loss is measured again. Default: 1
 * @returns for each measurement the heads silenced until then, and the loss
 * @throws ConfigError for a head that the model has not; whatever the model throws
 */
export async function silenceInTurn(
  loss: ModelLoss,
  order: readonly HeadPlace[],
  { together = 1, ...options }: SilencingOptions & { readonly together?: number | undefined } = {},
): Promise<readonly { readonly silenced: number; readonly loss: number }[]> {
  checkSizes('silenceInTurn', { together });
  const passes = new Passes('silenceInTurn', loss, options);
  const steps = Math.ceil(order.length / together);
  await passes.whole(() => steps + 1);
  const curve: { silenced: number; loss: number }[] = [];
  for (let step = 1; step <= steps; step++) {
    const silent = order.slice(0, step * together);
    curve.push({ silenced: silent.length, loss: await passes.without(silent) });
  }
  return curve;
}

/**
 * Silences at each step the head without which the model, as it is by then, loses least, until none is left: n (n + 1) / 2
 * passes for n heads. Where heads stand in for each other this order is another than that of heads alone. Nothing is left in
 * memory.
 *
 * @returns heads in the order in which they go, each with the loss once it and all before it are silenced
 * @throws whatever the model throws
 */
export async function silenceGreedily(
  loss: ModelLoss,
  options: SilencingOptions = {},
): Promise<readonly HeadLoss[]> {
  const passes = new Passes('silenceGreedily', loss, options);
  const { places } = await passes.whole((count) => (count * (count + 1)) / 2 + 1);
  const gone: HeadLoss[] = [];
  while (gone.length < places.length) {
    const left = places.filter(
      ({ layer, head }) => !gone.some((one) => one.layer === layer && one.head === head),
    );
    let least: HeadLoss | undefined;
    for (const place of left) {
      const found = await passes.without([...gone, place]);
      if (!least || found < least.loss) least = { ...place, loss: found };
    }
    gone.push(least!);
  }
  return gone;
}

/** The passes of one model over the same tokens. */
class Passes {
  private readonly kernel: AttentionKernel;
  private readonly onPass: (done: number, of: number) => void;
  private heads: readonly number[] = []; // of each layer
  private done = 0;
  private count = 0;

  constructor(
    private readonly where: string,
    private readonly loss: ModelLoss,
    options: SilencingOptions,
  ) {
    const known = normalizeOptions(where, 'options', options, ['kernel', 'onPass']);
    this.kernel = known.kernel ?? composed();
    this.onPass = known.onPass ?? (() => {});
  }

  /** The loss of the whole model, and all its heads. */
  async whole(countOf: (heads: number) => number) {
    const heads: number[] = [];
    const counting = wrapKernel(this.kernel, {
      result(result, { sizes }) {
        heads.push(sizes.Hq);
        return result;
      },
    });
    const loss = await this.read(counting);
    this.heads = heads;
    const places = heads.flatMap((count, layer) =>
      Array.from({ length: count }, (_, head) => ({ layer, head })),
    );
    this.count = countOf(places.length);
    this.tell();
    return { whole: loss, places };
  }

  async without(places: readonly HeadPlace[]): Promise<number> {
    const silent = this.heads.map((_, layer) =>
      places.filter((one) => one.layer === layer).map(({ head }) => head),
    );
    const outside = places.find(({ layer }) => !(layer in silent));
    if (outside)
      throw new ConfigError(this.where, 'heads must be of layers of the model, counted from 0', {
        head: outside,
        layers: this.heads.length,
      });
    const loss = await this.read(silenceHeads(this.kernel, silent));
    this.tell();
    return loss;
  }

  private tell(): void {
    this.done++;
    this.onPass(this.done, this.count);
  }

  private async read(kernel: AttentionKernel): Promise<number> {
    const loss = tf.tidy(() => this.loss(kernel));
    try {
      return (await loss.data())[0]!;
    } finally {
      loss.dispose();
    }
  }
}
