// Tasks spread over processes, one for each core: a decoder of the wasm backend computes on one.
import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { FromChild } from './child';
import { stepsOf, type Task, type Trained } from './train-one';

interface Watch {
  /** In the order in which they end. */
  onTrained(trained: Trained): void;
  /** Steps of all tasks. */
  onSteps(done: number, total: number): void;
}

/** Rejects where a process ends before its work is done; the others are ended then. */
export async function trainAll(tasks: readonly Task[], processes: number, watch: Watch): Promise<void> {
  const total = tasks.reduce((sum, task) => sum + stepsOf(task), 0);
  const waiting = [...tasks];
  let done = 0;
  const children = Array.from({ length: Math.min(processes, tasks.length) }, start);
  try {
    await Promise.all(children.map(workThrough));
  } finally {
    for (const child of children) child.kill();
  }

  async function workThrough(child: ChildProcess): Promise<void> {
    for (let task = waiting.shift(); task; task = waiting.shift()) {
      const before = done;
      let ofTask = 0;
      const trained = await answer(child, task, (steps) => {
        done += steps - ofTask;
        ofTask = steps;
        watch.onSteps(done, total);
      });
      done += stepsOf(task) - ofTask;
      if (done > before) watch.onSteps(done, total);
      watch.onTrained(trained);
    }
  }
}

function start(): ChildProcess {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return fork(fileURLToPath(new URL('./child.ts', import.meta.url)), [], {
    execArgv: ['--conditions=@polyhead/source', '--import', loader],
  });
}

function answer(child: ChildProcess, task: Task, onSteps: (done: number) => void): Promise<Trained> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      child.off('message', hear);
      child.off('exit', fail);
    };
    const hear = (message: FromChild) => {
      if ('steps' in message) return onSteps(message.steps);
      leave();
      resolve(message.trained);
    };
    const fail = (code: number | null, signal: string | null) => {
      leave();
      reject(new Error(`a process that trains has ended: ${signal ?? `exit code ${code}`}`));
    };
    child.on('message', hear);
    child.on('exit', fail);
    child.send(task);
  });
}
