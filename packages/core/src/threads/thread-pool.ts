// Threads that help with a pass of a kernel: they and the caller take its units from a shared counter.
import { HeapBlocks } from '../backend/heap-blocks';
import { hasWasmHeap, heapMemory } from '../backend/wasm-heap';
import { backendThreads, type SimdKind, sharesMemory, type WasmModules } from '../backend/wasm-modules';
import { ConfigError } from '../contract/errors';
import { CopiedBlocks, SharedStack, ThreadsFailed } from './copied-blocks';
import { type Helper, startHelper } from './helper';
import { cell, spins } from './worker-code';
import { expectedMs, isWorthThreads, type PassCost } from './worth';

/** What a module exports whose work threads share. `work` is the address of what the host has written down of a pass. */
export interface UnitExports {
  /** Bytes of the workspace that one thread needs for it; 0: none. */
  workspaceBytes(work: number): number;
  /** Gets the workspace of a thread ready for it. */
  begin(work: number, workspace: number): void;
  /** How many parts it has, each of which any thread may compute. */
  unitCount(work: number): number;
  /** Computes a part, those first that take longest. */
  unit(work: number, workspace: number, n: number): void;
}

/** Where a pass that threads share is written down, and what computes it. */
export interface SharedPass {
  /** Where tensors, and what is written beside them, lie for all threads. */
  readonly blocks: HeapBlocks;
  /** How many compute. */
  readonly threads: number;
  /** Computes all units of the work at that address. */
  compute(work: number): void;
}

/** Of whom a pool is. */
export interface ThreadPoolOptions<Exports extends UnitExports> {
  /** The kernel's. */
  readonly modules: WasmModules<Exports>;
  /** Which of them serves. */
  readonly simd: () => SimdKind;
  /** The caller's among them, 1 to 256. Default: as many as TensorFlow.js has on wasm, one where its memory is not shared. */
  readonly threads?: number | undefined;
}

const mostThreads = 256; // more than machines have; each takes some megabytes
const notPrepared = 'prepare() has not been awaited on backend "wasm"';
// How long the caller waits for units that helpers have taken: a thread that has died says nothing while it waits.
const patienceMs = 1000;
const patienceFactor = 20; // of what a unit takes

/** Threads of a kernel in WebAssembly, from `start` until `end`; until then calls have one. */
export class ThreadPool<Exports extends UnitExports> {
  readonly #options: ThreadPoolOptions<Exports>;
  #helpers: Helper[] = [];
  #memory: WebAssembly.Memory | undefined;
  #stack: SharedStack | undefined; // unless the memory is tfjs's own
  #cells: Int32Array = new Int32Array(0);
  #mayWait = false;
  #starting: Promise<void> | undefined;
  #reason: string | undefined = notPrepared;
  #generation = 0; // counts ends: what an earlier start still does is of no use

  /** @throws ConfigError for less than one thread, and for more than 256 */
  constructor(where: string, options: ThreadPoolOptions<Exports>) {
    const { threads = 1 } = options;
    if (!Number.isInteger(threads) || threads < 1 || threads > mostThreads) {
      const rule = `threads must be a whole number from 1 to ${mostThreads}`;
      throw new ConfigError(where, rule, { threads });
    }
    this.#options = options;
  }

  /** Why calls have one thread now; undefined where the others are ready. */
  get reason(): string | undefined {
    if (this.#reason !== undefined) return this.#reason;
    const isThere = this.#stack !== undefined || (hasWasmHeap() && heapMemory() === this.#memory);
    return isThere ? undefined : 'the backend has another memory since prepare()';
  }

  /** Says how many threads a pass has, and why it has one where others were asked for. */
  note(cost: PassCost): string {
    if ((this.#options.threads ?? backendThreads()) === 1) return 'one thread';
    const reason = this.reason ?? (this.#gainsBy(cost) ? undefined : 'more would gain nothing here');
    return reason === undefined ? `${this.#helpers.length + 1} threads` : `one thread: ${reason}`;
  }

  #gainsBy(cost: PassCost): boolean {
    return isWorthThreads(cost, this.#helpers.length + 1, this.#stack !== undefined);
  }

  /** Starts the threads, unless they run or there is to be one. Where they cannot, `reason` says why. */
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
    const { modules, simd, threads = backendThreads() } = this.#options;
    if (threads === 1) return;
    if (typeof SharedArrayBuffer === 'undefined') {
      this.#reason = 'memory cannot be shared: a page must be cross-origin isolated';
      return;
    }
    const module = await modules.compile(simd(), true);
    if (this.#generation !== generation) return; // it has been disposed of meanwhile
    const helpers: Helper[] = [];
    this.#helpers = helpers;
    try {
      const control = new SharedArrayBuffer(Object.keys(cell).length * 4);
      const memory = this.#chooseMemory();
      this.#cells = new Int32Array(control);
      this.#mayWait = mayWait(this.#cells);
      for (let thread = 1; thread < threads; thread++) {
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

  /**
   * Lets several threads compute a pass, where they are ready and gain something.
   *
   * @param costOf asked where threads are ready
   * @param use writes the pass down, computes it and reads what it has given
   * @returns what `use` gives, in a list; undefined where one thread is to do it, all of it once more where threads have failed
   */
  share<T>(costOf: () => PassCost, use: (pass: SharedPass) => T): readonly [T] | undefined {
    if (this.reason !== undefined) return undefined;
    const cost = costOf();
    if (!this.#gainsBy(cost)) return undefined;
    const blocks = this.#stack ? new CopiedBlocks(this.#stack) : new HeapBlocks();
    const compute = (work: number) => this.#compute(blocks, work, expectedMs(cost));
    try {
      return [use({ blocks, threads: this.#helpers.length + 1, compute })];
    } catch (error) {
      if (!(error instanceof ThreadsFailed)) throw error;
      this.end(error.message);
      blocks.abandon();
      return undefined;
    } finally {
      blocks.release();
    }
  }

  /** @throws ThreadsFailed where one of them fails, or does not answer */
  #compute(blocks: HeapBlocks, work: number, expectedMs: number): void {
    const kernel = this.#options.modules.instanceIn(this.#memory!, this.#options.simd());
    const units = kernel.unitCount(work);
    const workspaceBytes = kernel.workspaceBytes(work);
    const workspaces = blocks.reserve(workspaceBytes * (this.#helpers.length + 1));
    const cells = this.#cells;
    const pass = cells[cell.pass]! + 1;
    const fields = { work, units, workspaces, workspaceBytes, pass, failed: 0, done: 0 };
    for (const [name, value] of Object.entries(fields)) cells[cell[name as keyof typeof fields]] = value;
    Atomics.store(cells, cell.left, units); // from here on units can be taken
    Atomics.add(cells, cell.wake, 1);
    Atomics.notify(cells, cell.wake, Math.min(this.#helpers.length, units - 1));
    let ownUnits = 0;
    let unitMs = expectedMs / units;
    try {
      kernel.begin(work, workspaces);
      for (let left = this.#nextUnit(); left > 0; left = this.#nextUnit()) {
        ownUnits++;
        const began = performance.now();
        kernel.unit(work, workspaces, units - left);
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

/** The first thread of a page may not sleep. */
function mayWait(cells: Int32Array): boolean {
  try {
    Atomics.wait(cells, cell.done, -1, 0);
    return true;
  } catch {
    return false;
  }
}
