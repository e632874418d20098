// What a stranger does first: the install line of a document, then its first example.
import { deepEqual } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { examplesOf } from '../document-examples';
import { asModule, asScript } from '../example-programs';
import {
  type Installer,
  install,
  installedFiles,
  installedPackages,
  newProject,
  type Project,
  printed,
  write,
} from './project';
import type { Registry } from './registry';
import { type NodeVersion, root } from './tools';

export interface FirstMinute {
  /** A README with an install line. */
  readonly document: string;
  readonly installer: Installer;
  /** That its example runs on. */
  readonly nodes: readonly NodeVersion[];
}

/** Installs what the document says, and runs its example as ES module and by `require`. */
export function firstMinute(folder: string, registry: Registry, what: FirstMinute): Project {
  const project = newProject(folder, registry);
  const packages = packagesToInstall(what.document);
  install(project, packages, what.installer);
  checkInstalled(project, packages);
  const [example] = examplesOf(what.document);
  if (!example) throw new Error(`${what.document} has no example`);
  write(project, 'example.ts', example.code);
  write(project, 'example.js', asModule(example.code));
  write(project, 'example.cjs', asScript(example.code));
  for (const node of what.nodes) {
    for (const file of ['example.js', 'example.cjs'])
      deepEqual(
        printed(project, file, node),
        example.prints,
        `${what.document}, ${file}, Node ${node.version}`,
      );
  }
  return project;
}

function packagesToInstall(document: string): string[] {
  const [, line] = /^npm install (.*)$/m.exec(readFileSync(join(root, document), 'utf8')) ?? [];
  if (!line) throw new Error(`${document} has no line that installs`);
  return line.split(' ');
}

/** Of Polyhead what was asked for, and core; one engine; nothing native; licences that Apache-2.0 goes with. */
export function checkInstalled(project: Project, requested: readonly string[]): void {
  const packages = installedPackages(project);
  const named = (start: string) => packages.map(({ name }) => name).filter((name) => name.startsWith(start));
  const wanted = new Set(['@polyhead/core', ...requested.filter((name) => name.startsWith('@polyhead/'))]);
  deepEqual(named('@polyhead/').sort(), [...wanted].sort(), 'packages of Polyhead that were installed');
  deepEqual(named('@tensorflow/tfjs-core'), ['@tensorflow/tfjs-core'], 'engines that were installed');
  const native = installedFiles(project).filter((file) => /\.node$|(^|\/)binding\.gyp$/.test(file));
  deepEqual([...named('@tensorflow/tfjs-node'), ...native], [], 'native parts that were installed');
  const others = packages.filter(({ license }) => !isAllowed(String(license)));
  deepEqual(others, [], `licenses other than ${licenses.join(', ')}`);
}

/** Of several licenses that hold together each. */
function isAllowed(license: string): boolean {
  return license.split(' AND ').every((each) => licenses.includes(each));
}

/** That Apache-2.0 may be delivered with. */
const licenses = ['Apache-2.0', 'MIT', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD'];
