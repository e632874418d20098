// A name or a path to a model.
import { existsSync, statSync } from 'node:fs';
import { isAttentionError } from '@polyhead/core';
import { findModel, type ModelName, modelNames } from '../../../../scripts/models/models';
import { UsageError } from '../command-line/errors';
import { userPath } from '../command-line/user-path';
import type { LoadedModel } from './loaded-model';

/** The model in the repository. */
const ownName = 'moby-dick';

/** Names that need no path. */
const knownNames = [ownName, ...modelNames];

/** @throws UsageError for what is no model, and for a file that is none that is known */
export async function chooseModel(nameOrPath: string): Promise<LoadedModel> {
  if (nameOrPath === ownName) return (await import('./own/own-model')).loadedOwnModel();
  const name = modelNames.find((own) => own === nameOrPath);
  if (name) {
    const model = findModel(name);
    if ('reason' in model) throw new UsageError(model.reason);
    return published(name, model.path);
  }
  const path = userPath(nameOrPath);
  if (!existsSync(path))
    throw new UsageError(
      `there is no model ${nameOrPath}: give ${knownNames.join(', ')}, or the path of a file or folder`,
    );
  try {
    if (statSync(path).isDirectory()) return await (await import('./load-folder')).loadFolder(path);
    if (path.endsWith('.gguf')) return await (await import('./load-gguf')).loadGguf(path);
  } catch (error) {
    // What the file is not: the user's own, so no defect of ours.
    if (!isAttentionError(error) && !(error instanceof SyntaxError)) throw error;
    throw new UsageError(
      `${path}: ${error.message
        .split('\n')
        .map((line) => line.trim())
        .join('; ')}`,
    );
  }
  throw new UsageError(`${path} is no .gguf file, and no folder with a config.json`);
}

async function published(name: ModelName, path: string): Promise<LoadedModel> {
  const { annalogGolden, smollmGolden } = await import('./golden');
  if (name === 'annalog') return (await import('./load-annalog')).loadAnnalog(path, annalogGolden());
  return (await import('./load-gguf')).loadGguf(path, { golden: smollmGolden() });
}
