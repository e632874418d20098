// What published models show in the report of `bench full`: proof, pooled heads, and what heads see.
import { WrongResultError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { loadPublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { reproducePublished, studyPublished } from '../reproduce/published-sentences';
import { wrongParts } from '../reproduce/reproduction';
import { measureSections } from './measure-sections';

/** Sentences. */
const [reproduced, studied] = [192, 48];

/**
 * On the current backend.
 *
 * @throws WrongResultError where the published attention is not reproduced
 */
export async function studyPublishedModels({ progress }: Pick<Outlet, 'progress'>): Promise<object> {
  const model = await loadPublishedModel(readModelFiles());
  try {
    const reproduction = await reproducePublished(model, reproduced, progress);
    const wrong = wrongParts(reproduction);
    if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));
    const study = await studyPublished(model, studied, progress);
    return { reproduction, study, ...(await measureSections(model, { quick: false, progress })) };
  } finally {
    model.dispose();
  }
}
