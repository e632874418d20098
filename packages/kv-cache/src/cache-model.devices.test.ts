// Random sequences of all that a cache can do, beside arrays that do the same.
import { expectSameMemory, memoryNow, useOpaqueBackend } from '@polyhead/conformance';
import { isAttentionError, type TokenPositions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Entries, expectEqual, expectStored, numbersOf, positionAt } from './fixtures/expect-stored';
import { capacity, type Kind, kinds, nextOrderOf, type Token } from './fixtures/modelled-caches';
import { cacheFromBytes, cacheToBytes, SharedCache } from './index';
import type { RowCache } from './row-cache';

const { POLYHEAD_BACKEND: backend = 'cpu', POLYHEAD_PAGE: page } = process.env;
const isDevice = backend.startsWith('web');
const isSlow = backend === 'tensorflow' || page !== undefined; // for small operations, or runs in Node as well
const onHost = isSlow ? 40 : 120;
const often = isDevice ? 3 : onHost; // a device is waited for at each action
const runs = process.env.POLYHEAD_LONG ? 2_000 : often; // of about seven operations each: 200,000 of all kinds

/** One cache, and what it must hold. */
interface Scene {
  cache: RowCache;
  readonly kind: Kind;
  entries: Entries;
  nextId: number;
  /** Those that it was forked from, or to, and what they hold. */
  others: { readonly cache: RowCache; readonly entries: Entries }[];
  stale?: (() => void) | undefined; // the commit of a stage that nobody committed
}

const countsOf = (most: number) => fc.tuple(fc.nat(most), fc.nat(most));

const stages = fc.record({
  action: fc.constant('stage' as const),
  counts: countsOf(3),
  padding: fc.nat(1),
  positions: fc.constantFrom('counted', 'counted', 'start', 'starts', 'each', 'each for all'),
  first: fc.tuple(fc.integer({ min: -3, max: 9 }), fc.integer({ min: -3, max: 9 })),
  end: fc.constantFrom('commit', 'commit', 'commit', 'leave', 'leave NaN', 'stage again', 'commit twice'),
});
const faults = fc.record({
  action: fc.constant('misfit' as const),
  fault: fc.constantFrom('batch', 'size', 'dtype', 'lengths', 'length of values'),
});
const crops = fc.record({ action: fc.constant('crop' as const), lengths: countsOf(capacity) });
const selections = fc.record({ action: fc.constant('select' as const), from: countsOf(2) });
const others = fc.record({
  action: fc.constantFrom(
    ...(['reset', 'read', 'fork', 'go on as fork', 'seal a fork', 'dispose', 'write down'] as const),
  ),
});
const actions = fc.oneof(
  { weight: 8, arbitrary: stages },
  { weight: 2, arbitrary: crops },
  { weight: 2, arbitrary: selections },
  { weight: 1, arbitrary: faults },
  { weight: 3, arbitrary: others },
);

type Action = typeof actions extends fc.Arbitrary<infer T> ? T : never;
type Stage = Extract<Action, { action: 'stage' }>;

async function perform(scene: Scene, action: Action): Promise<void> {
  const { cache, entries } = scene;
  if (action.action === 'stage') await stage(scene, action);
  else if (action.action === 'misfit') misfit(scene, action.fault);
  else if (action.action === 'crop') {
    const { lengths } = action;
    const { crops = () => true } = scene.kind;
    const fits = entries.every((tokens, b) => lengths[b]! <= tokens.length && crops(tokens, lengths[b]!));
    change(
      scene,
      () => cache.crop(lengths),
      fits && entries.map((tokens, b) => tokens.slice(0, lengths[b]!)),
    );
  } else if (action.action === 'select') {
    const { from } = action;
    change(scene, () => cache.select(from), !from.includes(2) && from.map((entry) => entries[entry]!));
  } else if (action.action === 'fork') scene.others.push({ cache: cache.fork(), entries });
  else if (action.action === 'go on as fork') {
    scene.others.push({ cache, entries });
    scene.cache = cache.fork();
    scene.stale = undefined;
  } else if (action.action === 'seal a fork') sealFork(scene);
  else if (action.action === 'dispose') dispose(scene);
  else if (action.action === 'write down') {
    scene.others.push({ cache, entries });
    scene.cache = cacheFromBytes(await cacheToBytes(cache), scene.kind.create());
    scene.stale = undefined;
  } else if (action.action === 'reset') change(scene, () => cache.reset(), [[], []]);
  else {
    await expectStored(cache.read(), entries, scene.kind);
    await expectStored(new SharedCache(cache).read(), entries, scene.kind);
    expectView(scene);
  }
  expectState(scene);
}

async function stage(scene: Scene, { counts, padding, positions, first, end }: Stage): Promise<void> {
  const { cache, entries } = scene;
  const S = Math.max(...counts) + padding;
  const explicit = explicitPositions(positions, first, S);
  const added = counts.map((count, b) =>
    Array.from({ length: count }, (_, i) => ({
      id: end === 'leave NaN' ? Number.NaN : scene.nextId++,
      order: nextOrderOf(entries[b]!) + i,
      position: explicit ? positionAt(explicit, b, i, S) : nextPositionOf(entries[b]!) + i,
    })),
  );
  const rows = { ...rowsOf(added, S), lengths: counts, ...(explicit && { positions: explicit }) };
  const extended = entries.map((tokens, b) => [...tokens, ...added[b]!]);
  const { capacity = Number.POSITIVE_INFINITY, retain = (tokens) => tokens } = scene.kind;
  if (extended.some((tokens) => tokens.length > capacity)) {
    expectRefused(() => cache.stage(rows));
    return;
  }
  const staged = cache.stage(rows);
  expectStale(scene);
  await expectStored(staged.stored, extended, scene.kind);
  expectState(scene); // still as it was
  if (end === 'leave' || end === 'leave NaN') {
    scene.stale = staged.commit;
    return;
  }
  if (end === 'stage again') {
    cache.stage(rows);
    expectRefused(staged.commit);
    return;
  }
  staged.commit();
  scene.entries = extended.map(retain);
  if (end === 'commit twice') expectRefused(staged.commit);
}

/** A cache that takes no more. */
function sealFork({ cache, entries }: Scene): void {
  const fork = cache.fork();
  if (entries.every((tokens) => tokens.length === 0)) expectRefused(() => fork.seal());
  else {
    fork.seal();
    expectRefused(() => fork.stage(rowsOf([[], []], 1)));
    expectRefused(() => fork.crop([0, 0]));
    fork.select([1, 0]);
    expectEqual('lengths', fork.lengths, [entries[1]!.length, entries[0]!.length]);
  }
  fork.dispose();
}

/** Another cache goes on, empty. */
function dispose(scene: Scene): void {
  const { cache } = scene;
  for (let n = 0; n < 2; n++) cache.dispose();
  for (const use of [() => cache.read(), () => cache.fork(), () => cache.crop([0, 0])]) expectRefused(use);
  Object.assign(scene, { cache: scene.kind.create(), entries: [[], []], stale: undefined });
}

/** A view follows its source, holds nothing, and changes nothing. */
function expectView({ cache, entries }: Scene): void {
  const view = new SharedCache(cache);
  const refused: (() => unknown)[] = [
    () => view.stage(),
    () => view.select([0, 1]),
    () => view.fork(),
    () => view.reset(),
    () => view.crop(entries.map((tokens) => tokens.length + 1)),
  ];
  for (const use of refused) expectRefused(use);
  view.crop(cache.lengths);
  view.dispose();
  expectEqual('nextOrder of a view', view.nextOrder, entries.map(nextOrderOf));
  expectEqual('bytes of a view', [view.byteSize], [0]);
}

function explicitPositions(
  kind: Stage['positions'],
  first: readonly [number, number],
  S: number,
): TokenPositions | undefined {
  const each = (count: number) => Int32Array.from({ length: count }, (_, i) => first[i % 2]! + i * i);
  if (kind === 'start') return { start: [first[0]] };
  if (kind === 'starts') return { start: first };
  if (kind === 'each') return { each: each(2 * S) };
  if (kind === 'each for all') return { each: each(S) };
  return undefined;
}

const nextPositionOf = (tokens: readonly Token[]) => (tokens.at(-1)?.position ?? -1) + 1;

/** Key and value of tokens, NaN where there is none. */
function rowsOf(entries: Entries, S: number) {
  const tensor = (size: number, sign: number) =>
    tf.tensor4d(numbersOf(entries, S, [size, sign, Number.NaN]), [2, 2, S, size]);
  return { key: tensor(3, 1), value: tensor(2, -1) };
}

function misfit({ cache }: Scene, fault: string): void {
  const { key, value } = rowsOf([[], []], 2);
  const wrong: Record<string, Parameters<RowCache['stage']>[0]> = {
    batch: { key: tf.zeros([1, 2, 2, 3]), value },
    size: { key, value: tf.zeros([2, 2, 2, 4]) },
    dtype: { key: tf.cast(key, 'int32'), value },
    lengths: { key, value, lengths: [3, 1] },
    'length of values': { key, value: tf.zeros([2, 2, 3, 2]) },
  };
  expectRefused(() => cache.stage(wrong[fault]!));
}

/** What is refused changes nothing; else the cache holds those. */
function change(scene: Scene, act: () => void, entries: Entries | false): void {
  if (entries) {
    act();
    scene.entries = entries;
    expectStale(scene);
  } else expectRefused(act);
}

function expectStale(scene: Scene): void {
  if (scene.stale) expectRefused(scene.stale);
  scene.stale = undefined;
}

const expectRefused = (use: () => unknown) => expect(use).toThrow(expect.toSatisfy(isAttentionError));

function expectState({ cache, entries, kind }: Scene): void {
  const lengths = entries.map((tokens) => tokens.length);
  expectEqual('lengths', cache.lengths, lengths);
  expectEqual('nextOrder', cache.nextOrder, entries.map(nextOrderOf));
  expectEqual('nextPosition', cache.nextPosition, entries.map(nextPositionOf));
  if (kind.bytes) expectEqual('byteSize', [cache.byteSize], [kind.bytes(lengths)]);
}

/** `tidy` for what has to wait. */
async function scoped(run: () => Promise<void>): Promise<void> {
  tf.engine().startScope();
  try {
    await run();
  } finally {
    tf.engine().endScope();
  }
}

function checkSequences(kind: Kind, numRuns: number): Promise<void> {
  const sequences = fc.array(actions, { minLength: 2, maxLength: 12 });
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const before = memoryNow();
    const scene: Scene = { kind, cache: kind.create(), entries: [[], []], nextId: 1, others: [] };
    for (const action of sequence) await scoped(() => perform(scene, action));
    await scoped(() => expectStored(scene.cache.read(), scene.entries, kind));
    for (const { cache, entries } of scene.others)
      await scoped(() => expectStored(cache.read(), entries, kind));
    for (const { cache } of [...scene.others, scene]) cache.dispose();
    expectSameMemory(before);
  });
  return fc.assert(property, { seed: 20_250, numRuns });
}

const name = '%s does what arrays do, in any sequence';
it.each(kinds.filter(([, { reads }]) => !(reads && isDevice)))(
  name,
  (_, kind) => checkSequences(kind, runs),
  600_000,
);

const anywhere = kinds.filter(([, { reads }]) => !reads);

it.each(anywhere)('%s does so, too, where tensors cannot be reached', async (_, kind) => {
  const back = await useOpaqueBackend();
  await checkSequences(kind, Math.ceil(runs / 10)).finally(back);
});
