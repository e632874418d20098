// The first line of the report: what fewer key/value heads save, and what they cost.
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import type { ModelStudy } from '../reproduce/model-study';
import type { CachedTiming } from './cached-speed';
import { shapes } from './shapes';

/**
 * Of the last shape and the longest context: the first variant with fewer key/value heads than the first, in the last cache, one sequence where
 * that was measured. The published model tells of groups of the same size, or of its largest.
 *
 * @returns undefined where none has fewer
 */
export function advice(timings: readonly CachedTiming[], study: ModelStudy): string | undefined {
  const decode = timings.filter(({ phase, shape }) => phase === 'decode' && shape === timings.at(-1)!.shape);
  const [longest, batch] = [
    Math.max(...decode.map((t) => t.tokens)),
    Math.min(...decode.map((t) => t.batch)),
  ];
  const { cache } = decode.at(-1)!;
  const ofContext = decode.filter((t) => t.tokens === longest && t.batch === batch && t.cache === cache);
  const [full] = ofContext;
  const fewer = ofContext.find(({ keyValueHeads }) => keyValueHeads < full!.keyValueHeads);
  if (!full || !fewer) return undefined;
  const [most, least] = [full.bytes.allocated, fewer.bytes.allocated];
  const groups = full.keyValueHeads / fewer.keyValueHeads;
  const { similarity, pooled } = similarityOf(study, groups);
  const { title } = shapes.find(({ name }) => name === fewer.shape)!;
  return (
    `For ${count(longest)} tokens of context, ${fewer.variant} saves ${formatBytes(most - least)} of ` +
    `${formatBytes(most)} a layer and decodes ${threeDigits(fewer.speedUp)} × as fast as ${full.variant} ` +
    `(${fewer.keyValueHeads} instead of ${full.keyValueHeads} key/value heads; ` +
    `${title}, ${cache} cache, batch ${batch}); ` +
    `pooled ${pooled} without training, the published model's layers keep a cosine similarity of ` +
    `${similarity.toFixed(2)}.`
  );
}

/** Over both layers. */
function similarityOf({ layers }: ModelStudy, groups: number) {
  const all = layers[0]!.variants[0]!.keyValueHeads;
  const sizes = layers[0]!.variants.map(({ keyValueHeads }) => all / keyValueHeads);
  const nearest = sizes.filter((size) => size <= groups).length - 1;
  const similarity =
    layers.reduce((sum, { variants }) => sum + variants[nearest]!.similarity.mean, 0) / layers.length;
  return { similarity, pooled: `${all} to ${layers[0]!.variants[nearest]!.keyValueHeads}` };
}
