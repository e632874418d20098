// What a helping thread runs. It is text, so that it needs no file of its own that a bundler would have to find.

/** What the control buffer holds: one number each. */
export const cell = {
  wake: 0, // counts passes: helpers wait for a new number
  left: 1, // units that nobody has taken, counted down; below 1: none
  done: 2, // units that helpers have finished
  failed: 3, // 1: a helper has failed at one
  pass: 4, // the number of the pass
  units: 5,
  work: 6, // addresses
  workspaces: 7,
  workspaceBytes: 8,
} as const;

/** Loads of a number that may change at once, before a thread goes to sleep: waking it takes longer. */
export const spins = 2000;

/** What a helper is given. */
export interface HelperData {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly control: SharedArrayBuffer;
  readonly thread: number; // from 1 on; the caller is 0
}

// A unit is taken before the fields of its pass are read: whoever has one knows that these are of the pass that runs, since
// the caller writes others only when all units are done.
export const workerCode = () => `
const cell = ${JSON.stringify(cell)};

function serve({ module, memory, control, thread }, ready) {
  const cells = new Int32Array(control);
  const kernel = new WebAssembly.Instance(module, { env: { memory } }).exports;
  let begun = 0;

  function compute(left) {
    const work = cells[cell.work];
    const workspace = cells[cell.workspaces] + thread * cells[cell.workspaceBytes];
    if (begun !== cells[cell.pass]) {
      kernel.begin(work, workspace);
      begun = cells[cell.pass];
    }
    kernel.unit(work, workspace, cells[cell.units] - left);
  }

  function help() {
    for (let left; (left = Atomics.sub(cells, cell.left, 1)) > 0; ) {
      try {
        compute(left);
      } catch {
        Atomics.store(cells, cell.failed, 1);
      }
      Atomics.add(cells, cell.done, 1);
    }
    Atomics.notify(cells, cell.done);
  }

  ready();
  for (let seen = 0; ; ) {
    for (let n = 0; n < ${spins} && Atomics.load(cells, cell.wake) === seen; n++);
    Atomics.wait(cells, cell.wake, seen);
    seen = Atomics.load(cells, cell.wake);
    help();
  }
}

const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
if (node) serve(node.workerData, () => node.parentPort.postMessage('ready'));
else globalThis.onmessage = ({ data }) => serve(data, () => globalThis.postMessage('ready'));
`;
