// Starting a thread, in Node and in a page.
import { type HelperData, workerCode } from './worker-code';

export interface Helper {
  /** Rejects where it cannot start. */
  readonly ready: Promise<void>;
  end(): void;
}

/** @param onEnd called when it ends by itself */
export function startHelper(data: HelperData, onEnd: () => void): Helper {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const threads = process?.getBuiltinModule?.('node:worker_threads');
  if (threads) return startInNode(threads as typeof import('node:worker_threads'), data, onEnd);
  return startInPage(data, onEnd);
}

function startInNode(
  { Worker }: typeof import('node:worker_threads'),
  workerData: HelperData,
  onEnd: () => void,
): Helper {
  // Neither the flags nor the environment of the process: what they load is of no use here.
  const worker = new Worker(workerCode(), { eval: true, workerData, execArgv: [], env: {} });
  const ready = new Promise<void>((resolve, reject) => {
    worker.once('message', () => {
      worker.unref(); // the process may end without it
      resolve();
    });
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('it has ended')));
  });
  worker.on('error', onEnd);
  worker.on('exit', onEnd);
  return { ready, end: () => void worker.terminate() };
}

function startInPage(data: HelperData, onEnd: () => void): Helper {
  const address = URL.createObjectURL(new Blob([workerCode()], { type: 'text/javascript' }));
  const worker = new Worker(address);
  let give = () => {};
  const ready = new Promise<void>((resolve, reject) => {
    give = () => reject(new Error('it has ended'));
    worker.addEventListener('message', () => resolve());
    worker.addEventListener('error', ({ message }) => {
      reject(new Error(message || 'the page does not let it'));
      onEnd();
    });
  }).finally(() => URL.revokeObjectURL(address));
  worker.postMessage(data);
  const end = () => {
    worker.terminate(); // it would never say that it is ready
    give();
  };
  return { ready, end };
}
