// `pnpm new-variant sliding-window` makes packages/sliding-window out of templates/variant, and its changeset.
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const usage = 'usage: pnpm new-variant NAME, for instance: pnpm new-variant sliding-window';

/**
 * @param name kebab-case, without "attention" at its end
 * @param root the repository
 * @returns the files made, relative to the root
 * @throws Error for a name that cannot be a package, or is taken
 */
export function newVariant(name: string | undefined, root: string): string[] {
  checkName(name, root);
  const folder = join('packages', name);
  cpSync(join(root, 'templates/variant'), join(root, folder), {
    recursive: true,
    filter: (path) => !['node_modules', 'dist'].includes(basename(path)),
  });
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => rename(join(entry.parentPath, entry.name), name));
  publish(join(root, folder, 'package.json'), root);
  const changeset = join(root, '.changeset', `${name}.md`);
  const words = name.replaceAll('-', ' ');
  writeFileSync(changeset, `---\n'@polyhead/${name}': minor\n---\n\nA new variant: ${words} attention.\n`);
  return [...files, changeset].map((path) => relative(root, path)).sort();
}

function checkName(name: string | undefined, root: string): asserts name is string {
  if (!name) throw new Error(usage);
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    throw new Error(`"${name}" cannot be a package name here: lower-case words joined by "-"\n${usage}`);
  }
  if (/(^|-)(attention|variant)$/.test(name)) {
    throw new Error(
      `"${name}": leave out its last word; it is added to the class, as in SlidingWindowAttention`,
    );
  }
  for (const taken of [join('packages', name), join('.changeset', `${name}.md`)]) {
    if (existsSync(join(root, taken))) throw new Error(`"${name}" is taken: ${taken} exists`);
  }
}

/** Puts the new name where the template has its own, in the text of a file and in its path. */
function rename(path: string, name: string): string {
  const text = readFileSync(path, 'utf8')
    .replaceAll(/Variant(?=Attention|Config)/g, pascalCase(name))
    .replaceAll('variant-attention', `${name}-attention`)
    .replaceAll('Variant attention', `${capitalize(name)} attention`)
    .replaceAll('@polyhead/variant', `@polyhead/${name}`)
    .replaceAll('templates/variant', `packages/${name}`);
  writeFileSync(path, text);
  const renamed = join(dirname(path), basename(path).replace('variant', name));
  renameSync(path, renamed);
  return renamed;
}

/** The template is private; what is made of it is published, at the version of the family. */
function publish(path: string, root: string): void {
  const { private: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'));
  writeFileSync(path, `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
}

function pascalCase(name: string): string {
  return name.split('-').map(capitalize).join('');
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const root = fileURLToPath(new URL('..', import.meta.url));
    for (const file of newVariant(process.argv[2], root)) console.log(file);
    console.log(
      '\nNext: npx pnpm install && npx pnpm fix. Then put the formula into its `apply` (CONTRIBUTING.md).',
    );
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
