// Parameters, operations, bytes and time: what the number of heads, grouping, caches and length change.
import {
  type AttentionKernel,
  allOf,
  anyOf,
  attend,
  causal,
  composed,
  countParameters,
  globalTokens,
  type Mask,
  slidingWindow,
} from '@polyhead/core';
import { attentionStatistics, flash, rowEntropy } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { attentionCost, cacheBytes, cacheShape, typicalModels, visiblePairs } from '@polyhead/inspect';
import { StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention, variableShapes } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { type Claim, decide, difference, digits, heads, rounding, tokens, whole } from './claim';

/** Milliseconds of each, the least of some turns, one after the other so that all meet the same machine. */
function times(works: readonly (() => tf.Tensor)[], turns = 5): number[] {
  const best = works.map(() => Number.POSITIVE_INFINITY);
  for (let turn = 0; turn <= turns; turn++)
    works.forEach((work, n) => {
      const start = performance.now();
      tf.tidy(() => work().dataSync());
      if (turn > 0) best[n] = Math.min(best[n]!, performance.now() - start); // the first prepares
    });
  return best;
}

const typical = (name: string) => typicalModels.find((model) => model.name === name)!;

const MiB = 2 ** 20;

/** Of claim 45: tokens, and the width of a window, or the rows that keys are projected to. */
const [short, long, width] = [512, 2048, 64];
const local = allOf(causal(), anyOf(slidingWindow({ left: width - 1, right: 0 }), globalTokens([0])));

export const cost: readonly Claim[] = [
  {
    number: 4,
    says: 'With d_k = d_v = d / h the cost is the same for any number of heads.',
    run() {
      const counts = [1, 2, 4, 8, 16, 32, 64].map((numHeads) =>
        attentionCost({ embedDim: 512, numHeads }, { queries: 512 }),
      );
      const [one] = counts;
      const isSame = counts.every(
        ({ parameters, flops }) =>
          parameters === one!.parameters && flops.forward.total === one!.flops.forward.total,
      );
      const weights = counts.at(-1)!.pairs / one!.pairs;
      return {
        verdict: decide({ true: isSame && weights === 1, depends: isSame }),
        answer: `Parameters (${whole(one!.parameters)} at width 512) and products (${whole(one!.flops.forward.total)} operations for 512 tokens) are, from 1 head to 64. But 64 heads have ${whole(weights)} × as many weights to go through softmax, and short heads multiply less well.`,
      };
    },
    time() {
      const query = tokens(1, 512, 256, 1);
      const layers = [1, 32].map((numHeads) => new MultiHeadAttention({ embedDim: 256, numHeads, seed: 1 }));
      const ratio = (kernel: AttentionKernel) => {
        const [few, many] = times(layers.map((layer) => () => layer.apply({ query }, { kernel }).output));
        return digits(many! / few!, 2);
      };
      const [fused, plain] = [ratio(flash()), ratio(composed())];
      for (const layer of layers) layer.dispose();
      return `Width 256, 512 tokens: 32 heads take ${fused} × the time of one by \`flash\`, ${plain} × by \`composed\`.`;
    },
  },
  {
    number: 12,
    says: 'The weights can be kept on the layer, to be looked at later.',
    run() {
      const [H, S] = [8, 512];
      const [query, key] = [heads([1, H, S, 8], 1), heads([1, H, S, 8], 2)];
      const options = { mask: causal() };
      const before = tf.memory().numBytes;
      const { weights, output } = attend(
        composed(),
        { query, key, value: key },
        { ...options, returns: ['weights'] },
      );
      const kept = tf.memory().numBytes - before - 4 * output.size;
      const { entropy } = attentionStatistics({ query, key, value: key }, options, { entropy: rowEntropy() });
      const byWeights = tf.tidy(() =>
        tf.neg(tf.sum(tf.mul(weights!, tf.log(tf.maximum(weights!, 1e-30))), 3)),
      );
      const off = difference(entropy, byWeights);
      return {
        verdict: off < 1e-4 && kept === 4 * H * S * S ? 'true' : 'false',
        answer: `True and costly: 8 heads over 512 tokens keep ${whole(kept / MiB)} MiB, over 4,096 tokens it would be ${whole((4 * H * 4096 ** 2) / MiB)} MiB for each layer and sequence. Their entropy, computed without the matrix, takes ${whole((4 * entropy.size) / 1024)} KiB and is the same to within 1e-4.`,
      };
    },
  },
  {
    number: 24,
    says: 'Each head has projections of full width, from E to E.',
    run() {
      const [usual, full] = [64, 512].map((headDim) =>
        countParameters(variableShapes({ embedDim: 512, numHeads: 8, headDim })),
      );
      return {
        verdict: full === 8 * usual! ? 'depends' : 'false',
        answer: `A choice, at h times the cost: width 512 with 8 heads of 512 has ${whole(full!)} parameters, with 8 heads of 64 ${whole(usual!)}. It is the same formula, with \`headDim: 512\`.`,
      };
    },
  },
  {
    number: 28,
    says: '32 query heads on 8 key/value heads need a quarter of the memory.',
    run() {
      const capacity = 64;
      const held = [32, 8].map((numKeyValueHeads) => {
        const layer = new GroupedQueryAttention({ embedDim: 256, numHeads: 32, numKeyValueHeads });
        const cache = new StaticCache(layer.cacheShape(1), { capacity });
        const { byteSize } = cache;
        const parameters = layer.variables.reduce((sum, { variable }) => sum + variable.size, 0);
        const planned = cacheBytes(layer.cacheShape(1), { tokens: capacity });
        cache.dispose();
        layer.dispose();
        return { byteSize, parameters, isPlanned: planned === byteSize };
      });
      const [all, grouped] = held;
      const ratio = all!.byteSize / grouped!.byteSize;
      return {
        verdict: ratio === 4 && held.every(({ isPlanned }) => isPlanned) ? 'true' : 'false',
        answer: `Of the cache: ${whole(all!.byteSize)} and ${whole(grouped!.byteSize)} bytes for 64 tokens of width 256, as predicted. The parameters of the layer are ${digits(all!.parameters / grouped!.parameters, 2)} × fewer, not 4 ×.`,
      };
    },
  },
  {
    number: 29,
    says: 'Keys and values of grouped heads are repeated until there are as many as queries.',
    run() {
      const query = heads([1, 8, 64, 16], 1);
      const [key, value] = [heads([1, 2, 64, 16], 2), heads([1, 2, 64, 16], 3)];
      const shared = attend(flash(), { query, key, value }).output;
      const repeat = (x: tf.Tensor4D) =>
        tf.reshape(tf.tile(tf.expandDims(x, 2), [1, 1, 4, 1, 1]), [1, 8, 64, 16]);
      const before = tf.memory().numBytes;
      const [keys, values] = [repeat(key), repeat(value)];
      const bytes = tf.memory().numBytes - before;
      const repeated = attend(flash(), { query, key: keys, value: values }).output;
      const isSame = difference(shared, repeated) < rounding;
      const ratio = (4 * (keys.size + values.size)) / (4 * (key.size + value.size));
      return {
        verdict: isSame && ratio === 4 && bytes >= 4 * keys.size ? 'false' : 'true',
        answer: `Not needed: 8 query heads read 2 key/value heads where they lie, with the same numbers to within 1e-5. Repeated, keys and values take ${whole(ratio)} × the memory.`,
      };
    },
  },
  {
    number: 30,
    says: 'Llama 2 has 32 query heads and 8 key/value heads.',
    run() {
      const pair = (name: string) => {
        const { numHeads, numKeyValueHeads = numHeads } = typical(name).config as {
          numHeads: number;
          numKeyValueHeads?: number;
        };
        return `${numHeads}/${numKeyValueHeads}`;
      };
      const [small, large, later] = [pair('LLaMA-2 7B'), pair('LLaMA-2 70B'), pair('LLaMA-3 8B')];
      return {
        verdict: small === '32/8' ? 'true' : 'false',
        answer: `Llama 2 7B has ${small}, Llama 2 70B ${large}. Llama 3 8B has ${later}.`,
      };
    },
  },
  {
    number: 31,
    says: 'With a long context or a large batch the cache becomes the bottleneck.',
    run() {
      const config = { embedDim: 4096, numHeads: 32 };
      const from = (numKeyValueHeads: number, batch: number) => {
        const grouped = { ...config, numKeyValueHeads };
        const { parameters } = attentionCost(grouped, { queries: 1 });
        return Math.floor((4 * parameters) / cacheBytes(cacheShape(grouped, batch), { tokens: 1 })) + 1;
      };
      const rows = [from(32, 1), from(32, 4), from(8, 1), from(8, 4)];
      return {
        verdict: rows.every((n) => n > 1) ? 'true' : 'false',
        answer: `In a layer as in Llama 2 7B keys and values outweigh the layer's matrices from ${whole(rows[0]!)} tokens on, from ${whole(rows[1]!)} with a batch of 4; with 8 key/value heads from ${whole(rows[2]!)} and ${whole(rows[3]!)}.`,
      };
    },
  },
  {
    number: 37,
    says: 'Width 768 with 12 heads has 2,359,296 parameters, width 12,288 with 96 heads 603,979,776.',
    run() {
      const count = (embedDim: number, numHeads: number, useBias: boolean) =>
        countParameters(variableShapes({ embedDim, numHeads, useBias }));
      const [small, large] = [count(768, 12, false), count(12288, 96, false)];
      return {
        verdict: small === 2_359_296 && large === 603_979_776 ? 'true' : 'false',
        answer: `${whole(small)} and ${whole(large)}, for one layer without biases. BERT and GPT-3 have them: ${whole(count(768, 12, true))} and ${whole(count(12288, 96, true))}.`,
      };
    },
  },
  {
    number: 39,
    says: 'BERT-Base is 768/12/64, BERT-Large 1024/16/64, GPT-2 768/12/64 and 1280/20/64, GPT-3 12288/96/128.',
    run() {
      const names = ['BERT-base', 'BERT-large', 'GPT-2 small', 'GPT-2 large', 'GPT-3 175B'];
      const sizes = names.map((name) => {
        const { embedDim, numHeads } = typical(name).config!;
        return `${embedDim}/${numHeads}/${embedDim / numHeads}`;
      });
      const said = ['768/12/64', '1024/16/64', '768/12/64', '1280/20/64', '12288/96/128'];
      return {
        verdict: `${sizes}` === `${said}` ? 'true' : 'false',
        answer: `In the configs: ${sizes.join(', ')}. The size of a head hardly grows: models get more heads, not larger ones.`,
      };
    },
  },
  {
    number: 45,
    says: 'Attention costs the square of the length; Longformer and Linformer do not.',
    run() {
      const pairs = (mask?: Mask) =>
        visiblePairs({ queries: long, mask }, 1) / visiblePairs({ queries: short, mask }, 1);
      const projected =
        visiblePairs({ queries: long, keys: width }, 1) / visiblePairs({ queries: short, keys: width }, 1);
      const [full, near] = [pairs(causal()), pairs(local)];
      return {
        verdict: full > 15 && near < 5 && projected < 5 ? 'true' : 'false',
        answer: `Four times as many tokens, 2,048 instead of 512, have ${digits(full)} × the pairs; with a window of 64 and a global token, as in Longformer, ${digits(near)} ×; with keys projected to 64 rows, as in Linformer, ${digits(projected)} ×.`,
      };
    },
    time() {
      const inputs = [short, long].map((S) => ({
        query: heads([1, 4, S, 32], 1),
        key: heads([1, 4, S, 32], 2),
      }));
      const kernel = flash();
      // Linformer's keys and values: S rows become 64 (Wang et al. 2020, 2006.04768).
      const shrunk = (x: tf.Tensor4D) => {
        const S = x.shape[2];
        const matrix = tf.randomNormal([1, 4, width, S], 0, S ** -0.5, 'float32', 4);
        return tf.matMul(matrix, x) as tf.Tensor4D;
      };
      const growth = (work: (x: (typeof inputs)[number]) => tf.Tensor) => {
        const [few, many] = times(inputs.map((x) => () => work(x)));
        return digits(many! / few!, 2);
      };
      const masked = (mask: Mask) =>
        growth(({ query, key }) => attend(kernel, { query, key, value: key }, { mask }).output);
      const projecting = growth(({ query, key }) => {
        const few = shrunk(key);
        return attend(kernel, { query, key: few, value: few }).output;
      });
      return `They take ${masked(causal())} ×, ${masked(local)} × and ${projecting} × the time.`;
    },
  },
];
