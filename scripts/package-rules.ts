// The rules every package keeps, as functions of its manifest and its files.

type Ranges = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name?: string;
  readonly private?: boolean;
  readonly polyhead?: { readonly kind?: string };
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly files?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
  readonly [field: string]: unknown;
}

export interface Package {
  /** From the root: `packages/core`. */
  readonly path: string;
  readonly manifest: Manifest;
  /** All its files but those that git ignores, from its folder. */
  readonly files: readonly string[];
  readonly readme: string;
}

interface Kind {
  /** The kinds it may depend on. */
  readonly dependsOn: readonly string[];
  /** Peers that it may have beside the engine. */
  readonly peers?: RegExp;
  /** It has at least one of them. */
  readonly needsPeer?: true;
  /** It may have compiled parts: `binding.gyp`, prebuilt files, a package for each platform. */
  readonly isNative?: true;
  /** It is not published, and depends on what it wants. */
  readonly isPrivate?: true;
}

/** What `"polyhead": { "kind" }` in a manifest can say. */
export const kinds: Readonly<Record<string, Kind>> = {
  core: { dependsOn: [] },
  variant: { dependsOn: ['core'] },
  kernel: { dependsOn: ['core'], peers: /^@tensorflow\/tfjs-(backend-[a-z]+|node(-gpu)?)$/, isNative: true },
  cache: { dependsOn: ['core', 'cache'] },
  files: { dependsOn: ['core'] },
  model: { dependsOn: ['core'] },
  adapter: { dependsOn: ['core', 'model'], peers: /^@tensorflow\/tfjs(-[a-z-]+)?$/, needsPeer: true },
  tool: { dependsOn: ['core'] },
  app: { dependsOn: [], isPrivate: true },
};

const engine = '@tensorflow/tfjs-core';
const range = '^4.22.0';
const packed = ['dist', 'src', '!src/**/*.test.ts', '!src/fixtures', 'CHANGELOG.md'];
const repository = 'https://github.com/polyhead/polyhead';
/** The first keywords of every package; its own follow. */
const keywords = ['tensorflow', 'tfjs', 'attention'];
const headings = ['## Install', '## Use', '## Options', '## When to use it, when not', '## Reference'];
const platform = /^@polyhead\/[a-z0-9-]+-(linux|darwin|win32)-(x64|arm64)(-(gnu|musl))?$/;

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const isOurs = (name: string) => name.startsWith('@polyhead/');

/** Published, or the template of what is published. */
const isLibrary = ({ path, manifest }: Package) => manifest.private !== true || path.startsWith('templates/');

/**
 * @param kindOf the kind of a package of the workspace, by its name
 * @returns the rules that the package breaks, in words
 */
export function brokenRules(subject: Package, kindOf: (name: string) => string | undefined): string[] {
  const { manifest } = subject;
  const kind = kinds[manifest.polyhead?.kind ?? ''];
  if (!kind) return [`"polyhead": { "kind" } must be one of ${Object.keys(kinds).join(', ')}`];
  return [
    ...checkFiles(subject, kind),
    ...checkReadme(subject),
    ...checkManifest(subject, kind),
    ...(isLibrary(subject) ? [...checkLibrary(subject, kind), ...checkExports(subject)] : []),
    ...(isLibrary(subject)
      ? [...checkDependencies(manifest, kind, kindOf), ...checkPeers(manifest, kind)]
      : []),
  ].filter((problem) => problem !== false);
}

type Problems = readonly (string | false)[];

function checkFiles({ files }: Package, { isNative }: Kind): Problems {
  // One config per tool, at the root.
  const allowed = ['package.json', 'README.md', 'CHANGELOG.md', ...(isNative ? ['binding.gyp'] : [])];
  return [
    ...['package.json', 'README.md'].map((file) => !files.includes(file) && `has no ${file}`),
    ...files
      .filter((file) => !file.includes('/') && !allowed.includes(file))
      .map((file) => `holds the file ${file}`),
  ];
}

function checkReadme({ manifest, readme }: Package): Problems {
  const prose = readme.replace(/^```.*?^```$/gms, '');
  const written = prose.split('\n').filter((line) => line.startsWith('#'));
  const wanted = [`# ${manifest.name}`, ...headings];
  return [
    !isEqual(written, wanted) && `README.md: the headings must be ${wanted.join(' / ')}`,
    ...lackingInstalls(readme).map(
      (name) => `README.md: its first example needs ${name}, which it does not install`,
    ),
  ];
}

/** What the first example imports beside what the line before it installs. */
function lackingInstalls(readme: string): string[] {
  const [, line] = /^npm install (.*)$/m.exec(readme) ?? [];
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(readme) ?? [];
  const imported = [...example.matchAll(/^(?:import|\} from|.* from) '(@[^/']+\/[^/']+|[^@/'][^/']*)/gm)].map(
    ([, name]) => name!,
  );
  return line ? [...new Set(imported)].filter((name) => !line.split(' ').includes(name)) : [];
}

function checkManifest({ path, manifest }: Package, { isPrivate }: Kind): Problems {
  const name = path.replace(/^.*\//, '@polyhead/');
  return [
    manifest.name !== name && `must be named ${name}`,
    !manifest.version && 'has no version: packing what depends on it would fail',
    !manifest.description && 'has no description',
    manifest.license !== 'Apache-2.0' && 'must have license Apache-2.0',
    manifest.type !== 'module' && 'must have type module',
    isPrivate === true && manifest.private !== true && 'must be private',
    ...Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
      .filter(([other, wanted]) => isOurs(other) && wanted !== 'workspace:^')
      .map(([other]) => `must depend on ${other} by workspace:^`),
  ];
}

function checkLibrary({ path, manifest, files }: Package, { isNative }: Kind): Problems {
  const wanted = {
    sideEffects: false,
    engines: { node: '>=20.19' },
    homepage: `${repository}/tree/main/${path}#readme`,
    bugs: `${repository}/issues`,
    author: 'The Polyhead authors',
    repository: { type: 'git', url: `git+${repository}.git`, directory: path },
    publishConfig: { access: 'public' },
  };
  const scripts = {
    build: 'tsup --config ../../tsup.config.ts',
    test: `vitest run --root ../.. ${path}`,
    'lint:package': 'publint --strict',
  };
  const { files: delivered = [] } = manifest;
  const named = Array.isArray(manifest.keywords) ? manifest.keywords : [];
  const isPrebuilt = delivered.some((file) => file.startsWith('prebuilds'));
  return [
    ...Object.entries(wanted)
      .filter(([field, value]) => !isEqual(manifest[field], value))
      .map(([field, value]) => `${field} must be ${JSON.stringify(value)}`),
    (!isEqual(named.slice(0, keywords.length), keywords) || named.length === keywords.length) &&
      `keywords must begin with ${JSON.stringify(keywords)}, and name what it is`,
    !isEqual(delivered.slice(0, packed.length), packed) && `files must begin with ${JSON.stringify(packed)}`,
    !isNative && delivered.length > packed.length && `files must be ${JSON.stringify(packed)}`,
    ...Object.entries(scripts)
      .filter(([name, script]) => manifest.scripts?.[name] !== script)
      .map(([name, script]) => `scripts.${name} must be "${script}"`),
    ...Object.keys(manifest.scripts ?? {})
      .filter((name) => !(name in scripts) && !isNative)
      .map((name) => `must not have a script ${name}`),
    files.includes('binding.gyp') && !isPrebuilt && 'files must hold prebuilds: users compile nothing',
    files.includes('binding.gyp') &&
      !manifest.scripts?.install &&
      'scripts.install must be "node-gyp-build": without one npm compiles where it finds binding.gyp',
  ];
}

/** Each door of a package is built from one file of `src`: `./wasm` from `src/wasm.ts`. */
function checkExports({ manifest, files }: Package): Problems {
  const { './package.json': own, ...doors } = manifest.exports ?? {};
  return [
    own !== './package.json' && 'exports must offer ./package.json',
    !('.' in doors) && 'exports must offer "."',
    ...Object.entries(doors).flatMap(([door, target]) => {
      const name = door === '.' ? 'index' : door.slice('./'.length);
      const wanted = {
        '@polyhead/source': `./src/${name}.ts`,
        types: `./dist/${name}.d.ts`,
        default: `./dist/${name}.js`,
      };
      return [
        !isEqual(target, wanted) && `exports["${door}"] must be ${JSON.stringify(wanted)}, in this order`,
        !files.includes(`src/${name}.ts`) && `has no src/${name}.ts`,
      ];
    }),
  ];
}

function checkDependencies(
  manifest: Manifest,
  { dependsOn, isNative }: Kind,
  kindOf: (name: string) => string | undefined,
): Problems {
  const isAllowed = (name: string) =>
    dependsOn.includes(kindOf(name) ?? '') || (isNative === true && name === 'node-gyp-build');
  const isPlatform = (name: string) => isNative === true && platform.test(name);
  // What core's tests would need depends on core.
  const siblings = dependsOn.length > 0 ? [] : Object.keys(manifest.devDependencies ?? {}).filter(isOurs);
  return [
    ...Object.keys(manifest.dependencies ?? {})
      .filter((name) => !isAllowed(name))
      .map((name) => `must not depend on ${name}`),
    ...Object.keys(manifest.optionalDependencies ?? {})
      .filter((name) => !isPlatform(name))
      .map((name) => `must not depend on ${name}, not even where it can be had`),
    siblings.length > 0 && `must not depend on ${siblings.join(', ')}: a cycle`,
  ];
}

function checkPeers({ peerDependencies = {} }: Manifest, { peers, needsPeer }: Kind): Problems {
  const others = Object.keys(peerDependencies).filter((name) => name !== engine);
  return [
    !(engine in peerDependencies) && `must have the peer ${engine}`,
    ...others.filter((name) => !peers?.test(name)).map((name) => `must not have the peer ${name}`),
    needsPeer === true && others.length === 0 && 'must have a peer of TensorFlow.js beside the engine',
    ...Object.entries(peerDependencies)
      .filter(([, wanted]) => wanted !== range)
      .map(([name]) => `the peer ${name} must be "${range}"`),
  ];
}
