// The code blocks of the documents, found and made importable, so that a test can run each one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';

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
      return this.resolve(id, join(root, importerOf(parse(importer).document)), { skipSelf: true });
    },
    load(id) {
      if (!id.startsWith(scheme)) return null;
      const { backend, document, line } = parse(id);
      this.addWatchFile(join(root, document));
      const example = examplesOf(document).find((candidate) => candidate.line === line);
      return example?.code.replace(/setBackend\('\w+'\)/, `setBackend('${backend}')`) ?? null;
    },
  };
}

function parse(id: string): { backend: string; document: string; line: number } {
  const [backend = '', ...rest] = id.slice(scheme.length).split('/');
  const line = Number.parseInt(rest.pop() ?? '', 10);
  return { backend, document: rest.join('/'), line };
}

/** An example sees what its package declares; those of the repository's own documents see what the bench does. */
function importerOf(document: string): string {
  const folder = document.endsWith('/README.md') ? document.slice(0, -'/README.md'.length) : 'apps/bench';
  return join(folder, 'package.json');
}
