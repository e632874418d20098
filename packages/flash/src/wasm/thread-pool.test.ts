// Threads that start, help, fail and end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { type CellChange, leaveToHelpers, toHost, useSharedHeap } from '@polyhead/conformance';
import { type AttentionKernel, attend, causal, firstSupported } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cell } from '../../../core/src/threads/worker-code';
import { isWasm } from '../fixtures/fused-kernel';
import { flash } from '../index';
import { flashWasm } from '../wasm';
import { kernelIn, modules } from './kernel-module';

const options = { mask: causal() };

/** Large enough to be shared. */
function inputs() {
  const [H, S, D] = [4, 400, 32];
  const heads = (seed: number) => {
    const numbers = Float32Array.from({ length: H * S * D }, (_, n) => Math.sin(1 + n * seed));
    return tf.tensor4d(numbers, [1, H, S, D]);
  };
  return { query: heads(1), key: heads(2), value: heads(3) };
}

const outputOf = (kernel: AttentionKernel) => toHost(attend(kernel, inputs(), options).output);

/** To the bit. */
const isSame = (a: Float64Array, b: Float64Array) => a.length === b.length && a.every((x, n) => x === b[n]);

const noteOf = (kernel: AttentionKernel) =>
  firstSupported([kernel]).explain(inputs(), options)[0]!.notes.join();

const made: AttentionKernel[] = [];

function threaded(): AttentionKernel {
  const kernel = flashWasm({ threads: 2 });
  made.push(kernel);
  return kernel;
}

async function ready(): Promise<AttentionKernel> {
  const kernel = threaded();
  await kernel.prepare!();
  expect(noteOf(kernel)).toMatch(/ SIMD, 2 threads$/);
  return kernel;
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const kernel of made.splice(0)) kernel.dispose!();
});

describe('threads', () => {
  beforeEach(({ skip }) => skip(!isWasm, 'only the kernel for wasm has threads'));

  it('start in prepare, end in dispose, and may start again', async () => {
    const kernel = threaded();
    const expected = outputOf(flashWasm());
    expect(noteOf(kernel)).toMatch(/one thread: prepare\(\) has not been awaited/);
    expect(isSame(outputOf(kernel), expected)).toBe(true);
    for (let time = 0; time < 2; time++) {
      await Promise.all([kernel.prepare!(), kernel.prepare!()]);
      expect(noteOf(kernel)).toMatch(/2 threads$/);
      expect(isSame(outputOf(kernel), expected)).toBe(true);
      kernel.dispose!();
      expect(noteOf(kernel)).toMatch(/one thread: the kernel is disposed/);
      expect(isSame(outputOf(kernel), expected)).toBe(true);
    }
  });

  it('end with dispose while they start, and may start again at once', async () => {
    const started: Worker[] = [];
    const note = (worker: Worker) => started.push(worker);
    process.on('worker', note);
    const kernel = threaded();
    const first = kernel.prepare!();
    kernel.dispose!();
    expect(noteOf(kernel)).toMatch(/one thread: the kernel is disposed/);
    await first;
    expect(noteOf(kernel)).toMatch(/one thread: the kernel is disposed/);
    expect(started).toHaveLength(0);
    const second = kernel.prepare!();
    while (started.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    kernel.dispose!(); // now that there are threads
    await Promise.all([second, kernel.prepare!()]);
    expect(noteOf(kernel)).toMatch(/2 threads$/);
    process.off('worker', note);
    expect(started).toHaveLength(2);
    expect(started[0]!.threadId).toBe(-1); // it has ended
  });

  it('are given up when one dies with work in hand', { timeout: 60_000 }, async () => {
    const kernel = await ready();
    const store: CellChange = Atomics.store;
    const loseOne: CellChange = (cells, index, value) =>
      store(cells, index, index === cell.left ? value - 1 : value);
    vi.spyOn(Atomics, 'store').mockImplementation(loseOne as never);
    expect(outputOf(kernel)).toHaveLength(4 * 400 * 32);
    expect(noteOf(kernel)).toMatch(/one thread: a thread does not answer/);
  });

  it('compute what the caller leaves to them', async () => {
    const kernel = await ready();
    const units = leaveToHelpers();
    expect(isSame(outputOf(kernel), outputOf(flashWasm()))).toBe(true);
    expect(units()).toBe(4 * 7);
  });

  it('are given up when one has ended', async () => {
    const started = once(process, 'worker') as Promise<[Worker]>;
    const kernel = await ready();
    const [worker] = await started;
    await worker.terminate();
    expect(isSame(outputOf(kernel), outputOf(flashWasm()))).toBe(true);
    expect(noteOf(kernel)).toMatch(/one thread: a thread has ended/);
  });

  it('are given up when one takes a unit and does not answer', async () => {
    const kernel = await ready();
    const store: CellChange = Atomics.store;
    const loseOne: CellChange = (cells, index, value) =>
      store(cells, index, index === cell.left ? value - 1 : value);
    vi.spyOn(Atomics, 'store').mockImplementation(loseOne as never);
    vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 10_000;
      return now;
    });
    expect(isSame(outputOf(kernel), outputOf(flashWasm()))).toBe(true);
    expect(noteOf(kernel)).toMatch(/one thread: a thread does not answer/);
  });

  it('are given up when one fails, in a gradient too', async () => {
    const gradientsBy = (kernel: AttentionKernel) => {
      const { query, key, value } = inputs();
      const loss = (...[q, k, v]: tf.Tensor[]) =>
        tf.sum(attend(kernel, { query: q, key: k, value: v } as never, options).output) as tf.Scalar;
      return tf.grads(loss)([query, key, value]).map(toHost);
    };
    const expected = gradientsBy(flashWasm());
    const kernel = await ready();
    const add: CellChange = Atomics.add;
    let passes = 0;
    const addAndFail: CellChange = (cells, index, value) => {
      if (index === cell.wake) passes++;
      if (index === cell.wake && passes === 2) Atomics.store(cells, cell.failed, 1);
      return add(cells, index, value);
    };
    vi.spyOn(Atomics, 'add').mockImplementation(addAndFail as never);
    expect(gradientsBy(kernel).map((gradient, n) => isSame(gradient, expected[n]!))).toEqual([
      true,
      true,
      true,
    ]);
    expect(passes).toBe(2);
    expect(noteOf(kernel)).toMatch(/one thread: a thread has failed/);
  });

  it('are given up when their memory cannot grow', async () => {
    const expected = outputOf(flashWasm());
    const kernel = await ready();
    vi.spyOn(WebAssembly.Memory.prototype, 'grow').mockImplementation(() => {
      throw new RangeError('out of memory');
    });
    expect(isSame(outputOf(kernel), expected)).toBe(true);
    expect(noteOf(kernel)).toMatch(/one thread: the memory that threads share cannot grow/);
  });

  it('are not there where memory cannot be shared', async () => {
    vi.stubGlobal('SharedArrayBuffer', undefined);
    const kernel = threaded();
    await kernel.prepare!();
    expect(isSame(outputOf(kernel), outputOf(flashWasm()))).toBe(true);
    expect(noteOf(kernel)).toMatch(/one thread: memory cannot be shared: .*cross-origin isolated/);
  });

  it('are not there where they cannot be started', async () => {
    class Refused {
      constructor() {
        throw new Error('no more workers');
      }
    }
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ Worker: Refused } as never);
    const kernel = threaded();
    await kernel.prepare!();
    expect(noteOf(kernel)).toMatch(/one thread: threads cannot be started: no more workers/);
    expect(isSame(outputOf(kernel), outputOf(flashWasm()))).toBe(true);
  });

  it("work in place where tfjs's own memory is shared, until it is another one", async () => {
    const expected = outputOf(flashWasm());
    const restore = useSharedHeap();
    try {
      const kernel = await ready();
      const grow = vi.spyOn(WebAssembly.Memory.prototype, 'grow');
      leaveToHelpers();
      expect(isSame(outputOf(kernel), expected)).toBe(true);
      expect(new Set(grow.mock.instances).size).toBeLessThan(2); // no memory but that of tfjs
      expect(isSame(outputOf(flashWasm()), expected)).toBe(true);
      restore();
      expect(noteOf(kernel)).toMatch(/one thread: the backend has another memory/);
      expect(isSame(outputOf(kernel), expected)).toBe(true);
    } finally {
      restore();
    }
  });

  it('do not keep a process from ending', { timeout: 60_000 }, async () => {
    const script = fileURLToPath(new URL('../fixtures/leave-threads.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=@polyhead/source', script]);
    const [note] = (await once(child.stdout, 'data')) as [Buffer];
    const [code] = await once(child, 'exit');
    expect(`${note}`).toMatch(/3 threads/);
    expect(code).toBe(0);
  });

  it.each(['plain', 'relaxed'] as const)('share a module of %s SIMD that others do not', (simd) => {
    if (simd === 'relaxed' && !modules.knowsRelaxedSimd()) return;
    for (const shared of [true, false]) {
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared });
      expect(kernelIn(memory, simd)).toHaveProperty('forward');
    }
  });

  it.each([0, -1, 1.5, '2', Number.NaN, 257, 2 ** 31])('are a whole number, not %s', (threads) => {
    expect(() => flashWasm({ threads: threads as number })).toThrow(
      /flashWasm: threads must be a whole number from 1 to 256/,
    );
  });
});

describe('flash', () => {
  it('has the threads of the kernel for wasm', async () => {
    const kernel = flash({ threads: 2 });
    made.push(kernel);
    await kernel.prepare!();
    expect(noteOf(kernel)).toMatch(isWasm ? / SIMD, 2 threads$/ : /one thread: others need backend "wasm"/);
    expect(() => flash({ threads: 0 })).toThrow(/threads must be a whole number/);
    expect(() => flash({ tiles: 1 } as never)).toThrow(/flash: /);
  });
});
