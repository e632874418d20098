// A run of the bench as it is written down: where, when, with how much of a processor.
import { cpus, loadavg, platform, totalmem } from 'node:os';
import { registries as all, type Registries } from '../axes/registries';
import type { Backend } from '../backends/backend';
import { readEnvironment } from '../measure/environment';
import { leastShare } from '../measure/timed';
import { memoryRows } from './memory';
import type { Peaks } from './peaks';
import { type AbsentCell, type MatrixResult, type MeasuredCell, resultFormat, resultVersion } from './result';

export interface Findings {
  readonly backends: readonly Backend[];
  readonly peaks: Peaks;
  readonly cells: readonly MeasuredCell[];
  readonly absent: readonly AbsentCell[];
}

export interface Run {
  /** @param sections of a command of its own; `complete` is true unless it is given */
  result<Sections extends object>(findings: Findings, sections?: Sections): MatrixResult;
}

const method = [
  'Cells of one comparison take turns, in reverse order at every other turn; each call ends when its numbers are on the host.',
  'The first call of each cell stands apart, and one call between it and those that are timed is not counted.',
  'Each cell is compared with the same layer in doubles before it is timed: some heads, rows and columns of the call itself; ' +
    'with positions the whole layer on few tokens, and the call against one pass; in training the gradient along a direction. ' +
    'A wrong answer is not timed.',
  'Operations: projections and visible pairs, two for each product and its sum. Bytes: inputs, weights, keys and values, ' +
    'and outputs, once each. Shares are of what the backend itself reached in the same run, with the threads that are named beside it.',
  `A cell is busy where the process had less than ${leastShare} of a processor while it was timed: ratios to it are unsure.`,
  'Layers of one shape hold equal weights in common, so that the first call of a later cell finds some of them packed.',
  'Weights, and the tokens that stand in a cache, are made up.',
];

export function beginRun(command: string, registries: Registries = all): Run {
  const [begun, start, used] = [new Date(), performance.now(), process.cpuUsage()];
  const { cpu, cores, node, tfjs, commit } = readEnvironment();
  return {
    result({ backends, peaks, cells, absent }, sections) {
      const ms = performance.now() - start;
      const { user, system } = process.cpuUsage(used);
      const processorShare = (user + system) / 1000 / ms;
      const layers = registries.layers.filter(({ name }) => cells.some(({ layer }) => layer === name));
      return {
        format: resultFormat,
        version: resultVersion,
        command,
        complete: true,
        begun: begun.toISOString(),
        seconds: ms / 1000,
        machine: {
          cpu,
          cores,
          memoryBytes: totalmem(),
          platform: `${platform()} ${process.arch}, ${cpus().length} processors`,
        },
        versions: { tfjs, node, ...(commit !== undefined && { commit }) },
        load: { processorShare, busy: processorShare < leastShare, average: loadavg()[0]! },
        method,
        backends: backends.map(({ name, device, passedOver }) => ({
          ...{ name, device, passedOver: [...passedOver] },
          ...(peaks[name] && { peak: peaks[name] }),
        })),
        layers: layers.map(({ name, title, config: { embedDim, numHeads } }) => ({
          ...{ name, title, embedDim, numHeads },
        })),
        memory: memoryRows(layers, registries),
        cells: [...cells],
        absent: [...absent],
        ...sections,
      };
    },
  };
}
