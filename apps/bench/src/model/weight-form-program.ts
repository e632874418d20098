// The other end of weight-forms.ts.
import { heapBytes } from '@polyhead/conformance';
import { quantizeWeights, setDefaultProducts } from '@polyhead/core';
import { denseProducts } from '@polyhead/dense';
import { generate } from '@polyhead/transformer';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { chooseBackend } from '../backends/backend';
import { loadGguf } from './load-gguf';
import { decoderOf } from './loaded-model';
import { logitsOf } from './text-quality';
import { cacheOf, kernelsHere } from './ways';
import { type FormJob, type FormTimes, weightForms } from './weight-forms';

printUncaughtErrors();
const { form, path, ids, tokens, text } = JSON.parse(process.argv.at(-1)!) as FormJob;
const { keepBlocks, isDense, in8Bits } = weightForms[form];
await chooseBackend('wasm');
const kernel = (await kernelsHere()).at(-1)!;
if (isDense) setDefaultProducts(denseProducts());
const heapBefore = heapBytes();
const start = performance.now();
const { model, fileBytes } = await loadGguf(path, { keepBlocks });
if (in8Bits) quantizeWeights(model, 'int8');
const decoder = decoderOf(model);
const cache = cacheOf('static', decoder, { tokens: ids.length + tokens + 1 });
let [first, count] = [0, 0];
for await (const _ of generate(model, ids, { cache, kernel, maxTokens: tokens + 1 })) {
  count += 1;
  if (count === 1) first = performance.now();
}
const end = performance.now();
const memory = (heapBytes() - heapBefore) / fileBytes;
const logits = await logitsOf(decoder, text, { kernel });
process.send!({
  firstToken: first - start,
  generated: (1000 * (count - 1)) / (end - first),
  memory,
  logits,
} satisfies FormTimes);
