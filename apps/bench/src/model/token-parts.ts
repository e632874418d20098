// Where the time of a token goes: the clock runs for one part of the model at a time.
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { Embedding, FeedForward, generate, LayerNorm, RmsNorm } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import { decoderOf, type LoadedModel } from './loaded-model';
import { cacheOf, type Way } from './ways';

export const partNames = ['attention', 'products', 'feed-forward', 'norms', 'head', 'the rest'] as const;
export type PartName = (typeof partNames)[number];

/** Milliseconds of a token, by part; `products` are the projections of attention. */
export type TokenParts = Readonly<Record<PartName, number>>;

/** Parts by the methods that compute them. */
const methods: readonly (readonly [object, string, PartName])[] = [
  [GroupedQueryAttention.prototype, 'apply', 'attention'],
  [MultiHeadAttention.prototype, 'apply', 'attention'],
  [FeedForward.prototype, 'apply', 'feed-forward'],
  [LayerNorm.prototype, 'apply', 'norms'],
  [RmsNorm.prototype, 'apply', 'norms'],
  [Embedding.prototype, 'logits', 'head'],
];

/** Means over some tokens behind a prompt. Only where a call ends when its numbers are there: not on graphics cards. */
export async function timeParts(
  loaded: LoadedModel,
  way: Way,
  { ids, tokens }: { readonly ids: readonly number[]; readonly tokens: number },
): Promise<TokenParts> {
  const sizes = { tokens: ids.length + tokens + 2, source: ids.length };
  const cache = cacheOf(way.cache, decoderOf(loaded.model), sizes);
  const clock = new PartClock();
  const restore = watch(clock);
  let count = 0;
  try {
    for await (const _ of generate(loaded.model, ids, { cache, kernel: way.kernel, maxTokens: tokens + 1 })) {
      if (count === 0) clock.reset(); // the prompt is no token
      count += 1;
    }
  } finally {
    clock.pause();
    restore();
    cache?.dispose();
  }
  const parts = partNames.map((name) => [name, clock.milliseconds(name) / Math.max(1, count - 1)]);
  return Object.fromEntries(parts) as Record<PartName, number>;
}

/** Time by part: an inner part's is not the outer's. */
class PartClock {
  private readonly sums = new Map<PartName, number>();
  private readonly open: PartName[] = ['the rest'];
  private since = performance.now();

  get current(): PartName {
    return this.open.at(-1)!;
  }

  run<T>(part: PartName, f: () => T): T {
    this.pause();
    this.open.push(part);
    try {
      return f();
    } finally {
      this.pause();
      this.open.pop();
    }
  }

  pause(): void {
    const now = performance.now();
    this.sums.set(this.current, this.milliseconds(this.current) + now - this.since);
    this.since = now;
  }

  reset(): void {
    this.sums.clear();
    this.since = performance.now();
  }

  milliseconds(part: PartName): number {
    return this.sums.get(part) ?? 0;
  }
}

type Method = (...args: unknown[]) => unknown;

/** @returns what takes the watch away */
function watch(clock: PartClock): () => void {
  const undo = methods.map(([prototype, name, part]) => {
    const holder = prototype as Record<string, Method>;
    const own = Object.getOwnPropertyDescriptor(holder, name);
    const original = holder[name]!;
    holder[name] = function (this: unknown, ...args) {
      return clock.run(part, () => original.apply(this, args));
    };
    return () => {
      if (own) Object.defineProperty(holder, name, own);
      else delete holder[name];
    };
  });
  return [...undo, watchProducts(clock)].reduce((all, one) => () => {
    all();
    one();
  });
}

/** Products of matrices with variables: in attention its projections, outside of all parts a head of the model's own. */
function watchProducts(clock: PartClock): () => void {
  const engine = tf.engine() as unknown as { runKernel: Method };
  const original = engine.runKernel;
  const partOf = (kernel: unknown): PartName | undefined => {
    if (kernel !== 'BatchMatMul' && kernel !== '_FusedMatMul') return undefined;
    if (clock.current === 'the rest') return 'head';
    return clock.current === 'attention' ? 'products' : undefined;
  };
  engine.runKernel = function (this: unknown, ...args) {
    const part = partOf(args[0]);
    return part ? clock.run(part, () => original.apply(this, args)) : original.apply(this, args);
  };
  return () => {
    delete (engine as Partial<typeof engine>).runKernel; // the class has it
  };
}
