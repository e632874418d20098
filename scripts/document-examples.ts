// The code blocks of the documents, found and made importable, so that a test can run each one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';
import { findModel, type ModelName, modelNames } from './models/models';

export interface Example {
  readonly document: string;
  readonly line: number;
  readonly code: string;
  readonly prints: readonly string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const scheme = 'virtual:example/';

export function listDocuments(): string[] {
  const folders = ['packages', 'apps', 'templates'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name, 'README.md')),
  );
  const named = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return [...readdirSync(root), ...named('docs'), ...folders].filter(
    (path) => path.endsWith('.md') && existsSync(join(root, path)),
  );
}

export function examplesOf(document: string): Example[] {
  const text = readFileSync(join(root, document), 'utf8');
  return [...text.matchAll(/^```[tj]s\n(.*?)^```$/gms)].map((block) => {
    const code = block[1] ?? '';
    const line = text.slice(0, block.index).split('\n').length;
    return { document, line, code, prints: promisesOf(code) };
  });
}

/** What the comments after `console.log(...)` lines promise. */
export function promisesOf(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((promise) => promise[1] ?? '');
}

/** Why an example cannot run here: pages need tensors that can be written; a published model is opened by its file's name. */
export function missingFor(example: Example, backend: string): string | undefined {
  if (backend === 'tensorflow' && example.code.includes('PagePool')) return 'no tensor can be changed here';
  const name = modelIn(example);
  if (name === undefined) return undefined;
  if (backend !== 'wasm') return 'whole models run on wasm, once';
  const model = findModel(name);
  return 'reason' in model ? model.reason : undefined;
}

function modelIn({ code }: Example): ModelName | undefined {
  return modelNames.find((name) => code.includes(`'${findModel(name).file}'`));
}

/** Published models lie where they were installed. */
function withModelPaths(code: string): string {
  return modelNames.reduce((text, name) => {
    const model = findModel(name);
    return 'path' in model ? text.replaceAll(`'${model.file}'`, JSON.stringify(model.path)) : text;
  }, code);
}

/** The module that holds an example, to be imported; it runs on the given backend whichever it names. */
export function exampleModule({ document, line }: Example, backend: string): string {
  return `${scheme}${backend}/${document}/${line}.ts`;
}

export function documentExamples(): Plugin {
  return {
    name: 'document-examples',
    async resolveId(id, importer) {
      if (id.startsWith(scheme)) return id;
      if (!importer?.startsWith(scheme)) return null;
      return this.resolve(id, join(root, importerOf(parse(importer))), { skipSelf: true });
    },
    load(id) {
      if (!id.startsWith(scheme)) return null;
      const { backend, document, line } = parse(id);
      this.addWatchFile(join(root, document));
      const example = examplesOf(document).find((candidate) => candidate.line === line);
      return example
        ? withModelPaths(example.code.replace(/setBackend\('\w+'\)/, `setBackend('${backend}')`))
        : null;
    },
  };
}

function parse(id: string): { backend: string; document: string; line: number } {
  const [backend = '', ...rest] = id.slice(scheme.length).split('/');
  const line = Number.parseInt(rest.pop() ?? '', 10);
  return { backend, document: rest.join('/'), line };
}

/**
 * An example sees what its package declares; those of the repository's own documents, and those with a published model, see
 * what the bench does.
 */
function importerOf({ document, line }: { readonly document: string; readonly line: number }): string {
  const isReadme = document.endsWith('/README.md');
  const opensModel = examplesOf(document).some((own) => own.line === line && modelIn(own) !== undefined);
  const folder = isReadme && !opensModel ? document.slice(0, -'/README.md'.length) : 'apps/bench';
  return join(folder, 'package.json');
}
