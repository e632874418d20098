// `bench heads`: what the heads of a model do, section by section.
import { chooseReader } from '../attention/choose-reader';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { readEnvironment } from '../measure/environment';
import { stackedSvg } from '../page/stacked-svg';
import { environmentLines } from '../print/environment-lines';
import { sections } from './sections';

export interface HeadsOptions {
  readonly model: string;
  /** Names of sections. Default: all. */
  readonly only?: readonly string[];
  readonly backend?: BackendName;
  /** Absolute paths. */
  readonly json?: string;
  readonly svg?: string;
}

/** @throws UsageError for what is no model, or no section */
export async function runHeads(
  { model: name, only, json, svg, ...rest }: HeadsOptions,
  { print, progress, terminal }: Outlet,
): Promise<void> {
  const chosen = chooseSections(only);
  const backend = await chooseBackend(rest.backend);
  progress.stage('reading the model');
  const { reader: model } = await chooseReader(name);
  const environment = readEnvironment();
  const { title, layers, headsPerLayer } = model;
  print([
    `${title}: ${layers} layers of ${headsPerLayer} heads; L2H3 is head 3 of layer 2`,
    ...environmentLines(backend, environment),
  ]);
  const answers: Record<string, object> = {};
  const drawn: string[] = [];
  try {
    for (const section of chosen) {
      progress.stage(`measuring: ${section.title}`);
      const answer = await section.measure(model, progress);
      print(['', section.title, '']);
      if ('reason' in answer) {
        print([answer.reason]);
        answers[section.name] = answer;
        continue;
      }
      print(answer.lines(terminal.width));
      answers[section.name] = answer.json;
      if (answer.svg) drawn.push(answer.svg);
    }
  } finally {
    model.dispose();
  }
  const result = { model: title, layers, headsPerLayer, backend, environment };
  if (json !== undefined)
    writeTo(json, `${JSON.stringify({ ...result, sections: answers }, undefined, 2)}\n`);
  if (svg === undefined) return;
  if (drawn.length === 0) throw new UsageError('--svg: nothing of what was chosen can be drawn');
  writeTo(svg, stackedSvg(drawn));
}

function chooseSections(only: readonly string[] = sections.map(({ name }) => name)) {
  const names = sections.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--only: there is no section ${unknown}: there are ${names.join(', ')}`);
  return sections.filter(({ name }) => only.includes(name));
}
