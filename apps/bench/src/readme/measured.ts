// What the README shows: measured once, kept in a file, and written from there.
import { pieceOf } from '../attention/encoder-reader';
import { chooseBackend } from '../backends/backend';
import type { Outlet } from '../command-line/outlet';
import { comparisonCases } from '../compare/cases';
import { compareVariants } from '../compare/comparison';
import { whatItBrings } from '../compare/what-it-brings';
import { allowRelaxedSimd } from '../gates/relaxed-simd';
import { refuseWrong } from '../matrix/measure-cells';
import type { Brought } from '../matrix/result';
import { type Environment, readEnvironment } from '../measure/environment';
import { loadPublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { reproduceBatch } from '../reproduce/reproduction';

export interface Measured {
  readonly environment: Environment;
  readonly backend: string;
  readonly brought: Brought;
  /** Of one processor, what this program had while it measured: less than nine tenths is a busy machine. */
  readonly processorShare: number;
  readonly picture: Picture;
}

/** What one head of the published encoder sees in a sentence. */
export interface Picture {
  readonly sentence: string;
  /** Both count from 1. */
  readonly layer: number;
  readonly head: number;
  readonly tokens: readonly string[];
  /** [tokens, tokens], to four digits. */
  readonly weights: readonly (readonly number[])[];
}

const sentence = 'The whale that sank the ship was white.';
const [layer, head] = [2, 2];
const choice = {
  shape: ['llama-2-7b'],
  variant: ['grouped-8'],
  cache: ['growing', 'static'],
  tokens: [1024],
  batch: [1],
};

export async function measure({ progress }: Pick<Outlet, 'progress'>): Promise<Measured> {
  allowRelaxedSimd(); // as the bench does
  const { name } = await chooseBackend('wasm');
  const [cases] = comparisonCases(choice, { backend: name, quick: false });
  const picture = await takePicture();
  const [began, before] = [performance.now(), process.cpuUsage()];
  const comparison = await compareVariants([cases!], name, { progress });
  refuseWrong(comparison);
  const brought = whatItBrings(cases!, comparison.cells);
  const { user, system } = process.cpuUsage(before); // microseconds
  const processorShare = Math.min(1, (user + system) / 1000 / (performance.now() - began));
  return { environment: readEnvironment(), backend: name, brought, processorShare, picture };
}

/** On the current backend. */
export async function takePicture(): Promise<Picture> {
  const model = await loadPublishedModel(readModelFiles());
  try {
    const { tokens } = model.tokenize(sentence);
    const reproduced = await reproduceBatch(model, [tokens.map(({ id }) => id)]);
    const [heads] = (await reproduced[layer - 1]!.weights.array()) as number[][][][];
    for (const { weights } of reproduced) weights.dispose();
    const weights = heads![head - 1]!.map((row) => row.map((weight) => Number(weight.toFixed(4))));
    return { sentence, layer, head, tokens: tokens.map((token) => pieceOf(token).text), weights };
  } finally {
    model.dispose();
  }
}
