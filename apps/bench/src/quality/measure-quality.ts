// What smaller keys and values cost a decoder in quality: its perplexity on a text, by choice.
import { flash } from '@polyhead/flash';
import { ModelCache } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import type { Progress } from '../command-line/progress';
import { decoderOf, type LoadedModel } from '../model/loaded-model';
import { idsOf } from '../model/proof';
import type { ModelQuality } from '../report/sections';
import { exactCache, type QualityChoice, qualityChoices } from './choices';

interface QualityJob {
  readonly text: string;
  /** The most tokens of the text that are read. */
  readonly tokens: number;
  readonly choices?: readonly QualityChoice[];
  readonly progress: Pick<Progress, 'stage' | 'advance'>;
}

export async function measureQuality(
  loaded: LoadedModel,
  { text, tokens, choices = qualityChoices, progress }: QualityJob,
): Promise<ModelQuality> {
  const ids = idsOf(loaded, text).slice(0, tokens);
  const kernel = flash();
  await kernel.prepare?.();
  progress.stage(`perplexity of ${loaded.title} with smaller keys and values`);
  const points = choices.map((choice, n) => {
    const changed = choice.change?.(loaded);
    try {
      const { perplexity, bytes } = readText(loaded, ids, choice);
      progress.advance(n + 1, choices.length);
      return {
        name: choice.name,
        kind: choice.kind,
        bytes: Math.round(bytes * (changed?.bytesShare ?? 1)),
        perplexity,
      };
    } finally {
      changed?.restore();
    }
  });
  return { model: loaded.title, tokens: ids.length, text: text.slice(0, 80), points };

  function readText(
    { model }: LoadedModel,
    tokensOfText: readonly number[],
    { createCache = exactCache, tokensACall = tokensOfText.length }: QualityChoice,
  ) {
    const decoder = decoderOf(model);
    const cache = new ModelCache(decoder.cacheShapes(1), createCache);
    try {
      let sum = 0;
      for (let at = 0; at < tokensOfText.length; at += tokensACall) {
        const part = tokensOfText.slice(at, at + tokensACall);
        const targets = tokensOfText.slice(at + 1, at + 1 + part.length);
        sum += tf.tidy(() => {
          const { logits } = decoder.apply(tf.tensor2d([part], undefined, 'int32'), { cache, kernel });
          return surprise(logits, targets);
        });
      }
      return { perplexity: Math.exp(sum / (tokensOfText.length - 1)), bytes: cache.byteSize };
    } finally {
      cache.dispose();
    }
  }
}

/** -Σ ln softmax(logits)[target], on the host and in doubles: logits of a token are on the way there anyway. */
function surprise(logits: tf.Tensor3D, targets: readonly number[]): number {
  const [numbers, V] = [logits.dataSync() as Float32Array, logits.shape[2]];
  return targets.reduce((sum, target, i) => {
    const row = numbers.subarray(i * V, (i + 1) * V);
    const largest = row.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
    const total = row.reduce((all, logit) => all + Math.exp(logit - largest), 0);
    return sum + Math.log(total) + largest - row[target]!;
  }, 0);
}
