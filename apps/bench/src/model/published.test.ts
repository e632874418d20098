// Published models against other libraries' numbers, where they are installed; and the small one of the repository.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { quantizeWeights, setDefaultProducts } from '@polyhead/core';
import { denseProducts } from '@polyhead/dense';
import { generateText } from '@polyhead/transformer';
import { beforeAll, describe, expect, it } from 'vitest';
import { findModel } from '../../../../scripts/models/models';
import { chooseModel } from './choose-model';
import { loadGguf } from './load-gguf';
import { decoderOf, type LoadedModel } from './loaded-model';
import { ownGolden, prove, wrongProof } from './proof';
import { timeWays } from './speed';
import { logitsOf, qualityOf, textOf } from './text-quality';
import { partNames, timeParts } from './token-parts';
import { cacheOf, kernelsHere, waysOf } from './ways';

const progress = { stage: () => {}, advance: () => {}, clear: () => {} };
const isOn = (...backends: string[]) => backends.includes(process.env.POLYHEAD_BACKEND ?? '');

describe('the model of the repository', () => {
  it('computes the same in every way, in the bytes predicted, and leaves nothing', {
    timeout: 60_000,
  }, async () => {
    const kernels = await kernelsHere();
    const before = memoryNow();
    const loaded = await chooseModel('moby-dick');
    const ways = waysOf(kernels);
    const golden = await ownGolden(loaded, ways[0]!, [loaded.question]);
    const proof = await prove(loaded, golden, { ways, few: 1, progress });
    expect(wrongProof(proof, golden)).toEqual([]);
    expect(proof.filter(({ tokens }) => tokens > 0)).toHaveLength(ways.length);
    const ids = golden.cases[0]!.ids;
    for (const row of await timeWays(loaded, { ways, ids, tokens: 2, progress }))
      expect(row.heldBytes).toBe(row.predictedBytes);
    loaded.model.dispose();
    expectSameMemory(before);
  });

  it('says what is wrong where a weight is', async () => {
    const loaded = await chooseModel('moby-dick');
    const ways = waysOf((await kernelsHere()).slice(0, 1));
    const golden = await ownGolden(loaded, ways[0]!, ['The']);
    const { variable } = loaded.model.variables.find(({ name }) => name === 'block2/attention/query/kernel')!;
    variable.assign(variable.mul(1.5));
    const proof = await prove(loaded, golden, { ways, few: 1, progress });
    expect(wrongProof(proof, golden).join('\n')).toMatch(/one pass, composed: a logit differs by/);
    loaded.model.dispose();
  });

  it('has its time told by parts, which leave no trace', async () => {
    const loaded = await chooseModel('moby-dick');
    const way = waysOf(await kernelsHere()).at(-1)!;
    const [ids, apply] = [[67, 97], Object.getPrototypeOf(loaded.model).apply];
    const parts = await timeParts(loaded, way, { ids, tokens: 3 });
    for (const name of partNames) expect(parts[name], name).toBeGreaterThan(0);
    expect(Object.getPrototypeOf(loaded.model).apply).toBe(apply);
    loaded.model.dispose();
  });

  it('writes English', async () => {
    const loaded = await chooseModel('moby-dick');
    const cache = cacheOf('static', decoderOf(loaded.model), { tokens: 120 });
    let text = '';
    for await (const piece of generateText(loaded.model, 'The ', {
      tokenizer: loaded.tokenizer,
      cache,
      maxTokens: 80,
    }))
      text += piece;
    expect(text).toMatch(/\b(the|of|and|to|a|in|was|his|that)\b/);
    expect(text).toMatch(/^[\x20-\x7e\n]+$/);
    cache?.dispose();
    loaded.model.dispose();
  });
});

const installed = (name: 'annalog' | 'smollm2', skip: (reason: string) => void) => {
  const model = findModel(name);
  if ('reason' in model) skip(model.reason);
};

describe.runIf(isOn('wasm', 'tensorflow'))('published models', () => {
  it('ANNalog gives the logits and the molecules of its own modules, in every way', {
    timeout: 120_000,
  }, async ({ skip }) => {
    installed('annalog', skip);
    const loaded = await chooseModel('annalog');
    const ways = waysOf(await kernelsHere());
    const proof = await prove(loaded, loaded.golden!, { ways, few: 2, progress });
    expect(wrongProof(proof, loaded.golden!)).toEqual([]);
    let molecule = '';
    const { tokenizer, stopTokens } = loaded;
    for await (const piece of generateText(loaded.model, loaded.question, {
      tokenizer,
      stopTokens,
      maxTokens: 60,
    }))
      molecule += piece;
    expect(molecule).toBe('CC(=O)Nc1ccc(OC)cc1');
    loaded.model.dispose();
  });
});

describe.runIf(isOn('wasm'))('a published model of 135 million parameters', () => {
  let floats: LoadedModel; // loaded once; the last test needs it no more
  beforeAll(async () => {
    if ('path' in findModel('smollm2')) floats = await chooseModel('smollm2');
  }, 120_000);

  it('SmolLM2 gives the logits and tokens of transformers, and says what the capital of France is', {
    timeout: 180_000,
  }, async ({ skip }) => {
    installed('smollm2', skip);
    const golden = { ...floats.golden!, cases: floats.golden!.cases.slice(0, 1) };
    const [question] = golden.cases;
    expect(floats.tokenizer.encode(floats.prompt(floats.question))).toMatchObject({ ids: question!.ids });
    const ways = waysOf(await kernelsHere()).filter(
      ({ cache, kernel }) => cache === 'static' && kernel.name !== 'composed',
    );
    const proof = await prove(floats, golden, { ways, few: 1, progress });
    expect(wrongProof(proof, golden)).toEqual([]);
    expect(proof.at(-1)).toMatchObject({ tokens: 8, wrong: 0 });
    expect(floats.tokenizer.decode(question!.greedy.slice(0, -1))).toBe('The capital of France is Paris.');
  });

  it('SmolLM2 gives them by dense products, too, and nearly those in 8 bits and from blocks of its file', {
    timeout: 600_000,
  }, async ({ skip, onTestFinished }) => {
    installed('smollm2', skip);
    onTestFinished(() => setDefaultProducts(undefined));
    const kernel = (await kernelsHere()).at(-1)!;
    const ways = [{ cache: 'static', kernel }] as const;
    const golden = { ...floats.golden!, cases: floats.golden!.cases.slice(0, 1) };
    const proofOf = (loaded: LoadedModel) => prove(loaded, golden, { ways, few: 1, progress });
    const ids = textOf(floats).slice(0, 32);
    const logits = (loaded: LoadedModel) => logitsOf(decoderOf(loaded.model), ids, { kernel });
    const exact = await logits(floats);
    const divergence = (own: readonly Float32Array[]) => qualityOf(exact, own, ids).meanDivergence;

    setDefaultProducts(denseProducts());
    expect(wrongProof(await proofOf(floats), golden)).toEqual([]);
    expect(divergence(await logits(floats))).toBeLessThan(1e-8);

    quantizeWeights(floats.model, 'int8');
    expect((await proofOf(floats)).map(({ wrong }) => wrong)).toEqual([0, 0]);
    const in8Bits = divergence(await logits(floats));
    expect(in8Bits).toBeGreaterThan(1e-6); // they are no floats
    expect(in8Bits).toBeLessThan(0.002);
    floats.model.dispose();

    const blocks = await loadGguf(floats.gguf!, { keepBlocks: true });
    // A few rows are rounded to 16 bits where they meet blocks.
    const rounded = { ...golden, tolerance: 0.02 };
    expect(wrongProof(await proofOf(blocks), rounded)).toEqual([]);
    expect(divergence(await logits(blocks))).toBeLessThan(1e-5);
    blocks.model.dispose();
  });
});
