// A first look: two kernels agree, a prompt and a token go through a cache, fewer key/value heads make it smaller, and a head
// is drawn. `npx pnpm first-look` runs it; in a project of one's own these imports are all that it needs.
import { causal, composed } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { readHeads, textHeadMaps } from '@polyhead/inspect';
import { StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-wasm';

await tf.setBackend('wasm');
const mask = causal();
const words = ['Call', 'me', 'Ishmael', '.'];
const query = tf.randomNormal<tf.Rank.R3>([1, words.length, 64], 0, 1, 'float32', 1); // [B, S, E]

// One layer, two kernels: the same numbers.
const attention = new MultiHeadAttention({ embedDim: 64, numHeads: 8, seed: 1 });
const plain = attention.apply({ query }, { mask, kernel: composed() });
const fused = attention.apply({ query }, { mask, kernel: flash() });
const difference = tf.max(tf.abs(tf.sub(plain.output, fused.output)));
console.log(plain.kernel, fused.kernel); // composed flashWasm
console.log((await difference.data())[0]! < 1e-5); // true

// A prompt, then one token: the cache remembers the prompt, so the last row is that of one pass over all.
const cache = new StaticCache(attention.cacheShape(1), { capacity: 128 });
const [prompt, token] = tf.split(query, [words.length - 1, 1], 1);
attention.apply({ query: prompt! }, { mask, cache });
const { output } = attention.apply({ query: token! }, { mask, cache });
const last = tf.slice(plain.output, [0, words.length - 1, 0], [1, 1, 64]);
console.log(cache.lengths, (await tf.max(tf.abs(tf.sub(output, last))).data())[0]! < 1e-5); // [ 4 ] true

// The attention of Llama 3 or Mistral: 2 key/value heads for 8 query heads, a quarter of the cache.
const grouped = new GroupedQueryAttention({ embedDim: 64, numHeads: 8, numKeyValueHeads: 2 });
const smaller = new StaticCache(grouped.cacheShape(1), { capacity: 128 });
console.log(cache.byteSize, smaller.byteSize); // 65536 16384

// What a head sees. Weights are not trained here; `npx pnpm bench attention "…"` draws those of a published encoder.
const { weights } = attention.apply({ query }, { mask, returns: ['weights'] });
const heads = await readHeads(weights); // numbers [H, Sq, Skv]
const { lines } = textHeadMaps(heads.slice(0, 2), { queries: words, width: 80 });
for (const line of lines) console.log(line);
