// What was measured with, as lines that a person reads.
import type { Backend } from '../backends/backend';
import type { Environment } from '../measure/environment';
import { alignColumns } from './table';

export function environmentLines(backend: Backend, environment: Environment): string[] {
  const { tfjs, node, cpu, cores, commit } = environment;
  return alignColumns([
    ['backend', `${backend.name} (${backend.device})`],
    ...backend.passedOver.map(({ name, reason }) => ['', `not ${name}: ${reason}`]),
    ['versions', `TensorFlow.js ${tfjs}, Node ${node}${commit === undefined ? '' : `, commit ${commit}`}`],
    ['machine', `${cpu}, ${cores} cores`],
  ]);
}
