// Threads that help with a pass: they and the caller take its units from a shared counter.
import { hasWasmHeap, heapMemory, type SimdKind, sharesMemory } from '@polyhead/core/kernel';
import { HeapBlocks } from '../heap-blocks';
import { type KernelExports, kernelIn, modules } from '../kernel-module';
import { CopiedBlocks, SharedStack, ThreadsFailed } from './copied-blocks';
import { type Helper, startHelper } from './helper';
import { cell, cellCount, spins } from './worker-code';

/** What is computed, addresses in the memory of its blocks. */
export interface ThreadPass {
  readonly call: number; // of a `Call`
  readonly gradients: number; // of `Gradients`; 0: forward, in units of tiles; else in units of heads
  readonly heads: number; // key/value heads of all batch entries
  readonly expectedMs: number; // that one thread takes for all units
}

const notPrepared = 'prepare() has not been awaited on backend "wasm"';
// How long the caller waits for units that helpers have ownUnits: a thread that has died says nothing while it waits.
const patienceMs = 1000;
const patienceFactor = 20; // of what a unit takes

export class ThreadPool {
  readonly threads: number; // the caller's among them
  readonly #simd: () => SimdKind;
  #helpers: Helper[] = [];
  #memory: WebAssembly.Memory | undefined;
  #stack: SharedStack | undefined; // unless the memory is tfjs's own
  #cells: Int32Array = new Int32Array(0);
  #mayWait = false;
  #starting: Promise<void> | undefined;
  #reason: string | undefined = notPrepared;
  #generation = 0; // counts ends: what an earlier start still does is of no use

  constructor(threads: number, simd: () => SimdKind) {
    this.threads = threads;
    this.#simd = simd;
  }

  /** Why calls have one thread now; undefined where the others are ready. */
  get reason(): string | undefined {
    if (this.#reason !== undefined) return this.#reason;
    const isThere = this.#stack !== undefined || (hasWasmHeap() && heapMemory() === this.#memory);
    return isThere ? undefined : 'the backend has another memory since prepare()';
  }

  /** Whether tensors are copied into a memory of the pool. */
  get copies(): boolean {
    return this.#stack !== undefined;
  }

  /** Starts the threads, unless they run. Where they cannot, `reason` says why. */
  start(): Promise<void> {
    if (this.reason === undefined) return Promise.resolve();
    if (this.#starting) return this.#starting;
    this.end(notPrepared);
    const starting = this.#start(this.#generation).finally(() => {
      if (this.#starting === starting) this.#starting = undefined;
    });
    this.#starting = starting;
    return starting;
  }

  async #start(generation: number): Promise<void> {
    if (!hasWasmHeap()) return;
    if (typeof SharedArrayBuffer === 'undefined') {
      this.#reason = 'memory cannot be shared: a page must be cross-origin isolated';
      return;
    }
    const module = await modules.compile(this.#simd(), true);
    if (this.#generation !== generation) return; // it has been disposed of meanwhile
    const helpers: Helper[] = [];
    this.#helpers = helpers;
    try {
      const control = new SharedArrayBuffer(cellCount * 4);
      const memory = this.#chooseMemory();
      this.#cells = new Int32Array(control);
      this.#mayWait = mayWait(this.#cells);
      for (let thread = 1; thread < this.threads; thread++) {
        const onEnd = () => {
          const isRunning = this.#generation === generation && this.#reason === undefined;
          if (isRunning) this.end('a thread has ended');
        };
        helpers.push(startHelper({ module, memory, control, thread }, onEnd));
      }
      await Promise.all(helpers.map(({ ready }) => ready));
      if (this.#generation === generation) this.#reason = undefined;
    } catch (error) {
      if (this.#generation === generation) this.end(`threads cannot be started: ${(error as Error).message}`);
    }
  }

  /** That of tfjs, where its own threads share it. */
  #chooseMemory(): WebAssembly.Memory {
    const ofBackend = heapMemory();
    this.#stack = ofBackend && sharesMemory(ofBackend) ? undefined : new SharedStack();
    this.#memory = this.#stack?.memory ?? ofBackend!;
    return this.#memory;
  }

  /** Where a call lies that threads compute. */
  blocks(): HeapBlocks {
    return this.#stack ? new CopiedBlocks(this.#stack) : new HeapBlocks();
  }

  /** @throws ThreadsFailed where one of them fails, or does not answer */
  run(blocks: HeapBlocks, pass: ThreadPass): void {
    const kernel = kernelIn(this.#memory!, this.#simd());
    const isBackward = pass.gradients !== 0;
    const units = isBackward ? pass.heads : kernel.tileCount(pass.call);
    const workspaceBytes = kernel.workspaceBytes(pass.call, isBackward);
    const workspaces = blocks.reserve(workspaceBytes * this.threads);
    const cells = this.#cells;
    const { call, gradients, heads } = pass;
    const fields = {
      call,
      gradients,
      heads,
      units,
      workspaces,
      workspaceBytes,
      pass: cells[cell.pass]! + 1,
      failed: 0,
      done: 0,
    };
    for (const [name, value] of Object.entries(fields)) cells[cell[name as keyof typeof fields]] = value;
    Atomics.store(cells, cell.left, units); // from here on units can be taken
    Atomics.add(cells, cell.wake, 1);
    Atomics.notify(cells, cell.wake, Math.min(this.#helpers.length, units - 1));
    let ownUnits = 0;
    let unitMs = pass.expectedMs / units;
    try {
      kernel.initWorkspace(pass.call, workspaces, isBackward);
      for (let left = this.#nextUnit(); left > 0; left = this.#nextUnit()) {
        ownUnits++;
        const began = performance.now();
        compute(kernel, pass, { workspace: workspaces, unit: units - left, units });
        unitMs = Math.max(unitMs, performance.now() - began);
      }
    } finally {
      const leftUnits = Math.max(0, Atomics.exchange(cells, cell.left, 0));
      this.#join(units - leftUnits - ownUnits, patienceMs + patienceFactor * unitMs);
    }
    if (Atomics.load(cells, cell.failed) === 1) throw new ThreadsFailed('a thread has failed');
  }

  #nextUnit(): number {
    return Atomics.sub(this.#cells, cell.left, 1);
  }

  /** Waits until helpers have finished so many units, which they have taken; `patience` ms for the next of them. */
  #join(count: number, patience: number): void {
    let until = performance.now() + patience;
    let before = 0;
    for (let n = 0; ; n++) {
      const done = Atomics.load(this.#cells, cell.done);
      if (done >= count) return;
      if (done > before) until = performance.now() + patience;
      before = done;
      if (n < spins) continue;
      const left = until - performance.now();
      if (left <= 0) throw new ThreadsFailed('a thread does not answer');
      if (this.#mayWait) Atomics.wait(this.#cells, cell.done, done, left);
    }
  }

  /** Ends the threads; `start` starts others. */
  end(reason: string): void {
    this.#generation++;
    this.#starting = undefined;
    this.#reason = reason;
    const helpers = this.#helpers;
    this.#helpers = [];
    this.#memory = undefined;
    this.#stack = undefined;
    for (const helper of helpers) helper.end();
  }
}

/** The last tiles of all heads first: a causal mask leaves them the most keys. */
function compute(
  kernel: KernelExports,
  { call, gradients, heads }: ThreadPass,
  { workspace, unit, units }: { readonly workspace: number; readonly unit: number; readonly units: number },
): void {
  const tiles = units / heads;
  const n = (unit % heads) * tiles + tiles - 1 - Math.floor(unit / heads);
  if (gradients === 0) kernel.forward(call, workspace, n, n + 1);
  else kernel.backward(call, gradients, workspace, n, n + 1);
}

/** The first thread of a page may not sleep. */
function mayWait(cells: Int32Array): boolean {
  try {
    Atomics.wait(cells, cell.done, -1, 0);
    return true;
  } catch {
    return false;
  }
}
