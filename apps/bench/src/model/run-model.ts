// `bench model`: a published model proven, timed, weighed, and asked.
import { heapBytes } from '@polyhead/conformance';
import { generateText } from '@polyhead/transformer';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import { UsageError, WrongResultError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { readEnvironment } from '../measure/environment';
import { environmentLines } from '../print/environment-lines';
import { type CacheQuality, studyCaches } from './cache-study';
import { chooseModel } from './choose-model';
import { decoderOf, type LoadedModel } from './loaded-model';
import { idsOf, ownGolden, prove, wrongProof } from './proof';
import {
  byteLines,
  cacheLines,
  type FormRow,
  formLines,
  partLines,
  proofLines,
  speedLines,
  titleLines,
} from './report';
import { coldFirstToken, promptOf, timeWays } from './speed';
import { qualityOf, textOf } from './text-quality';
import { timeParts } from './token-parts';
import { cacheOf, kernelsHere, type Way, wayName, waysOf } from './ways';
import { type FormName, timeForm, weightForms } from './weight-forms';

export interface ModelOptions {
  readonly model: string;
  readonly prompt?: string;
  /** The most new tokens of the answer. */
  readonly tokens: number;
  readonly quick: boolean;
  readonly backend?: BackendName;
  readonly json?: string; // absolute path
  /** What each kind of cache costs the model, and nothing else. */
  readonly caches?: boolean;
}

const texts = ['Call me Ishmael.', 'The whale'];

/** @throws where logits or tokens are wrong, and for what is no model */
export async function runModel(options: ModelOptions, outlet: Outlet): Promise<void> {
  const { quick, json } = options;
  const backend = await chooseBackend(options.backend);
  outlet.progress.stage('loading the model');
  const loaded = await chooseModel(options.model);
  if (options.caches) {
    const caches = await runCacheStudy(loaded, outlet);
    if (json) writeTo(json, `${JSON.stringify({ backend, caches }, null, 2)}\n`);
    loaded.model.dispose();
    return;
  }
  checkPrompt(loaded, options);
  const kernels = await kernelsHere();
  const ways = waysOf(kernels);
  const ids = promptOf(loaded, quick ? 32 : 128);
  const before = heapBytes();
  const cold = await coldFirstToken(loaded, ways[0]!, ids);
  const bytes = {
    file: loaded.fileBytes,
    weights: loaded.model.variables.reduce((sum, { variable }) => sum + 4 * variable.size, 0),
    packed: heapBytes() - before,
  };
  const golden = loaded.golden ?? (await ownGolden(loaded, ways[0]!, texts));
  const proven = quick ? { ...golden, cases: golden.cases.slice(0, 2) } : golden;
  const proof = await prove(loaded, proven, { ways, few: quick ? 1 : 3, progress: outlet.progress });
  outlet.print([
    ...titleLines(loaded),
    '',
    ...environmentLines(backend, readEnvironment()),
    '',
    ...proofLines(proof, proven),
  ]);
  const wrong = wrongProof(proof, proven);
  if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));
  const tokens = quick ? 8 : 24;
  const speed = await timeWays(loaded, { ways, ids, tokens, progress: outlet.progress });
  outlet.print(['', ...speedLines(speed, cold)]);
  const unequal = speed.find((row) => row.predictedBytes !== row.heldBytes);
  if (unequal) throw new WrongResultError(`${unequal.way}: other bytes are held than were predicted`);
  const cached = ways.filter(({ cache }) => cache === 'static');
  const parts = [];
  for (const way of cached)
    parts.push({ way: wayName(way), parts: await timeParts(loaded, way, { ids, tokens }) });
  outlet.print(['', ...partLines(parts), '', ...byteLines(bytes), '']);
  const forms = await timeForms(loaded, { backend: backend.name, ids, tokens, outlet });
  const answer = await ask(loaded, options, { way: cached.at(-1)!, outlet });
  if (json)
    writeTo(
      json,
      `${JSON.stringify({ backend, cold, bytes, proof, speed, parts, forms, answer }, null, 2)}\n`,
    );
  loaded.model.dispose();
}

/** A GGUF file in each form of its weights; on wasm only, where blocks are multiplied as they lie. */
async function timeForms(
  loaded: LoadedModel,
  {
    backend,
    ids,
    tokens,
    outlet,
  }: {
    readonly backend: BackendName;
    readonly ids: readonly number[];
    readonly tokens: number;
    readonly outlet: Outlet;
  },
): Promise<readonly FormRow[]> {
  const { gguf: path } = loaded;
  if (path === undefined || backend !== 'wasm') return [];
  const text = textOf(loaded).slice(0, 320);
  const rows: FormRow[] = [];
  let exact: readonly Float32Array[] | undefined;
  for (const form of Object.keys(weightForms) as FormName[]) {
    outlet.progress.stage(`timing ${form}`);
    const { logits, ...times } = await timeForm({ form, path, ids, tokens, text });
    exact ??= logits;
    rows.push({ form, ...times, ...qualityOf(exact, logits, text) });
  }
  outlet.print([...formLines(rows), '']);
  return rows;
}

/** @throws WrongResultError where a cache costs SmolLM2 twice what it did */
async function runCacheStudy(loaded: LoadedModel, outlet: Outlet): Promise<readonly CacheQuality[]> {
  if ('encode' in loaded.model) throw new UsageError('--caches is for models that read and write one text');
  const ids = textOf(loaded);
  const kernel = (await kernelsHere()).at(-1)!;
  const qualities = await studyCaches(loaded.model, ids, {
    kernel,
    onCache: (name) => outlet.progress.stage(`decoding with ${name}`),
  });
  outlet.print([...titleLines(loaded), '', ...cacheLines(qualities)]);
  const worse = qualities.filter(
    ({ expected, meanDivergence }) => expected !== undefined && meanDivergence > 2 * expected,
  );
  if (/smollm2/i.test(loaded.title) && worse.length > 0)
    throw new WrongResultError(`more than twice the divergence: ${worse.map(({ name }) => name).join(', ')}`);
  return qualities;
}

/** @throws UsageError at once, where the answer would not fit */
function checkPrompt(loaded: LoadedModel, { prompt = loaded.question, tokens }: ModelOptions): void {
  const { maxLength = Number.POSITIVE_INFINITY } = decoderOf(loaded.model);
  const read = idsOf(loaded, loaded.prompt(prompt)).length;
  const isFine = 'encode' in loaded.model ? Math.max(read, tokens) <= maxLength : read + tokens <= maxLength;
  if (isFine) return;
  throw new UsageError(
    `--prompt has ${read} tokens, and ${tokens} are to follow: the model has positions for ${maxLength}`,
  );
}

/** Asks it, and shows the answer as it comes. */
async function ask(
  loaded: LoadedModel,
  { prompt = loaded.question, tokens }: Pick<ModelOptions, 'prompt' | 'tokens'>,
  { way, outlet }: { readonly way: Way; readonly outlet: Outlet },
): Promise<string> {
  const { model, tokenizer, stopTokens, sampling } = loaded;
  const whole = loaded.prompt(prompt);
  const source = idsOf(loaded, whole).length;
  const cache = cacheOf(way.cache, decoderOf(model), { tokens: source + tokens, source });
  outlet.print([`> ${prompt}`]);
  let answer = '';
  const options = { tokenizer, stopTokens, cache, kernel: way.kernel, maxTokens: tokens, ...sampling };
  for await (const piece of generateText(model, whole, options)) {
    answer += piece;
    outlet.write(piece);
  }
  outlet.write('\n');
  cache?.dispose();
  return answer;
}
