// A process that trains one decoder after another: schedule.ts asks, and hears of each few steps.
import { setImmediate } from 'node:timers/promises';
import { printUncaughtErrors } from '../../../../scripts/backends/errors';
import { chooseBackend } from '../backends/backend';
import { type Task, type Trained, trainOne } from './train-one';

export type FromChild = { readonly steps: number } | { readonly trained: Trained };

const stepsAMessage = 5;

printUncaughtErrors();
process.on('disconnect', () => process.exit()); // nobody waits for it any more
const say = (message: FromChild) => process.send!(message);
const started = chooseBackend('wasm');
process.on('message', async (task: Task) => {
  await started;
  const trained = await trainOne(task, async (done) => {
    if (done % stepsAMessage > 0) return;
    say({ steps: done });
    await setImmediate(); // training alone leaves no turn to events: neither to this message, nor to `disconnect`
  });
  say({ trained });
});
