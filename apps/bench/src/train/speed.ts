// Processor time of a training step, candidate beside candidate.

import { quantile } from '../measure/quantile';
import { takeTurns } from '../measure/take-turns';
import { mobyDickBytes, randomWindows, type WindowSize } from './byte-text';
import { type Candidate, createDecoder } from './candidates';
import { trainer } from './fit';
import type { StepSpeed } from './result';
import { fastestKernel } from './train-one';

interface SpeedRun {
  readonly windows: WindowSize;
  readonly turns: number;
  readonly onTurn?: (done: number, total: number) => void;
}

/** The first is what the others are compared with: their ratios are medians over turns. */
export async function timeSteps(
  candidates: readonly Candidate[],
  { windows, turns, onTurn }: SpeedRun,
): Promise<StepSpeed[]> {
  const kernel = await fastestKernel();
  const rows = randomWindows(mobyDickBytes().training, windows, 1)();
  const decoders = candidates.map((candidate) =>
    createDecoder(candidate, { seed: 1, longest: windows.length }),
  );
  const trainers = decoders.map(({ model }) => trainer(model, kernel));
  const timed = trainers.map(({ step }) => async () => {
    const used = process.cpuUsage();
    await step(rows, 1e-4);
    const { user, system } = process.cpuUsage(used);
    return (user + system) / 1000;
  });
  for (const step of timed) await step(); // compiles, and allocates the moments
  const times = await takeTurns(timed, turns, onTurn);
  for (const { dispose } of [...trainers, ...decoders]) dispose();
  return candidates.map(({ variant, position }, n) => ({
    ...{ variant, position, samples: turns },
    milliseconds: quantile(times[n]!, 0.5),
    ratio: quantile(
      times[n]!.map((ms, turn) => ms / times[0]![turn]!),
      0.5,
    ),
  }));
}
