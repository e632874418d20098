import { describe, expect, it } from 'vitest';
import { brokenRules, kinds, type Manifest, type Package } from './package-rules';
import { readPackages } from './packages';

const versions = '^4.22.0';

/** A package that keeps every rule, with some fields replaced. */
function packageOf(
  folder: string,
  kind: string,
  fields: Partial<Manifest> = {},
  files: string[] = [],
): Package {
  const path = `packages/${folder}`;
  const name = `@polyhead/${folder}`;
  const headings = ['Install', 'Use', 'Options', 'When to use it, when not', 'Reference'];
  return {
    path,
    files: ['package.json', 'README.md', 'src/index.ts', ...files],
    readme: [`# ${name}`, ...headings.map((heading) => `## ${heading}`)].join('\n'),
    manifest: {
      name,
      version: '0.0.0',
      description: 'A package',
      keywords: ['tensorflow', 'tfjs', 'attention', folder],
      homepage: `https://github.com/polyhead/polyhead/tree/main/${path}#readme`,
      bugs: 'https://github.com/polyhead/polyhead/issues',
      license: 'Apache-2.0',
      author: 'The Polyhead authors',
      type: 'module',
      polyhead: { kind },
      sideEffects: false,
      engines: { node: '>=20.19' },
      repository: { type: 'git', url: 'git+https://github.com/polyhead/polyhead.git', directory: path },
      files: ['dist', 'src', '!src/**/*.test.ts', '!src/fixtures', 'CHANGELOG.md'],
      exports: { '.': door('index'), './package.json': './package.json' },
      scripts: {
        build: 'tsup --config ../../tsup.config.ts',
        test: `vitest run --root ../.. ${path}`,
        'lint:package': 'publint --strict',
      },
      dependencies: { '@polyhead/core': 'workspace:^' },
      peerDependencies: { '@tensorflow/tfjs-core': versions },
      devDependencies: { '@polyhead/conformance': 'workspace:^' },
      publishConfig: { access: 'public' },
      ...fields,
    },
  };
}

function door(name: string) {
  return {
    '@polyhead/source': `./src/${name}.ts`,
    types: `./dist/${name}.d.ts`,
    default: `./dist/${name}.js`,
  };
}

const kindOf = (name: string) =>
  ({
    '@polyhead/core': 'core',
    '@polyhead/bert': 'model',
    '@polyhead/rotary': 'variant',
    '@polyhead/rows': 'cache',
  })[name];
const broken = (subject: Package) => brokenRules(subject, kindOf);
const peers = (...names: string[]) =>
  Object.fromEntries(['@tensorflow/tfjs-core', ...names].map((name) => [name, versions]));

/** A kernel compiled for each platform, that works in the heap of tfjs's wasm backend. */
const native = (fields: Partial<Manifest> = {}, files = ['binding.gyp', 'native/kernel.cc', 'src/wasm.ts']) =>
  packageOf(
    'native',
    'kernel',
    {
      files: [...(packageOf('native', 'kernel').manifest.files ?? []), 'prebuilds', 'binding.gyp', 'native'],
      scripts: { ...packageOf('native', 'kernel').manifest.scripts, install: 'node-gyp-build' },
      exports: { '.': door('index'), './wasm': door('wasm'), './package.json': './package.json' },
      peerDependencies: peers('@tensorflow/tfjs-backend-wasm'),
      dependencies: { '@polyhead/core': 'workspace:^', 'node-gyp-build': '4.8.4' },
      optionalDependencies: {
        '@polyhead/native-linux-x64': '0.0.0',
        '@polyhead/native-darwin-arm64': '0.0.0',
      },
      ...fields,
    },
    files,
  );

const adapter = (fields: Partial<Manifest> = {}) =>
  packageOf('layers', 'adapter', {
    dependencies: { '@polyhead/core': 'workspace:^', '@polyhead/bert': 'workspace:^' },
    peerDependencies: peers('@tensorflow/tfjs-layers'),
    ...fields,
  });

describe('a package that keeps the rules', () => {
  it.each(['variant', 'kernel', 'cache', 'files', 'model', 'tool'])('a %s', (kind) => {
    expect(broken(packageOf('one', kind))).toEqual([]);
  });

  it('a cache that is built on another', () => {
    const dependencies = { '@polyhead/core': 'workspace:^', '@polyhead/rows': 'workspace:^' };
    expect(broken(packageOf('one', 'cache', { dependencies }))).toEqual([]);
  });

  it('a kernel with compiled parts', () => expect(broken(native())).toEqual([]));

  it('an adapter', () => expect(broken(adapter())).toEqual([]));

  it('those of this repository', () => {
    const packages = readPackages();
    const kind = new Map(packages.map(({ manifest }) => [manifest.name, manifest.polyhead?.kind]));
    for (const one of packages)
      expect(
        brokenRules(one, (name) => kind.get(name)),
        one.path,
      ).toEqual([]);
  });
});

describe('a package that breaks a rule', () => {
  it.each<[string, Package, string]>([
    ['no kind', packageOf('one', 'variant', { polyhead: {} }), Object.keys(kinds).join(', ')],
    ['a kind nobody knows', packageOf('one', 'layer'), 'must be one of'],
    [
      'a variant that depends on another',
      packageOf('one', 'variant', { dependencies: { '@polyhead/rotary': 'workspace:^' } }),
      'must not depend on @polyhead/rotary',
    ],
    [
      'a variant with the peer of a kernel',
      packageOf('one', 'variant', { peerDependencies: peers('@tensorflow/tfjs-backend-wasm') }),
      'must not have the peer @tensorflow/tfjs-backend-wasm',
    ],
    [
      'a variant with compiled parts',
      packageOf('one', 'variant', {}, ['binding.gyp']),
      'holds the file binding.gyp',
    ],
    [
      'a kernel that npm would compile',
      native({ scripts: packageOf('native', 'kernel').manifest.scripts! }),
      'scripts.install must be "node-gyp-build": without one npm compiles where it finds binding.gyp',
    ],
    [
      'a cache with prebuilt files',
      packageOf('one', 'cache', {
        files: [...(packageOf('one', 'cache').manifest.files ?? []), 'prebuilds'],
      }),
      'files must be',
    ],
    [
      'a model with a package for each platform',
      packageOf('one', 'model', { optionalDependencies: { '@polyhead/one-linux-x64': '0.0.0' } }),
      'must not depend on @polyhead/one-linux-x64',
    ],
    [
      'a first example that needs what is not installed',
      {
        ...packageOf('one', 'tool'),
        readme:
          "npm install @polyhead/one\n\n```ts\nimport { one } from '@polyhead/one';\nimport * as tf from '@tensorflow/tfjs';\n```\n",
      },
      'needs @tensorflow/tfjs, which',
    ],
    [
      'a package with a script of its own',
      packageOf('one', 'tool', { scripts: { install: 'x' } }),
      'script install',
    ],
    [
      'a kernel that users must compile',
      native({ files: packageOf('a', 'kernel').manifest.files ?? [] }),
      'prebuilds',
    ],
    [
      'a kernel with the peer of an adapter',
      native({ peerDependencies: peers('@tensorflow/tfjs-layers') }),
      'must not have the peer @tensorflow/tfjs-layers',
    ],
    [
      'a kernel with optional packages that are none of a platform',
      native({ optionalDependencies: { sharp: '1.0.0' } }),
      'must not depend on sharp',
    ],
    ['a door without its file', native({}, []), 'has no src/wasm.ts'],
    [
      'a door that is built from elsewhere',
      native({ exports: { '.': door('main') } }),
      'exports["."] must be',
    ],
    ['an adapter to nothing', adapter({ peerDependencies: peers() }), 'must have a peer of TensorFlow.js'],
    [
      'an adapter to another library',
      adapter({ peerDependencies: peers('onnxruntime-web') }),
      'must not have the peer onnxruntime-web',
    ],
    [
      'an adapter to a variant',
      adapter({ dependencies: { '@polyhead/rotary': 'workspace:^' } }),
      'must not depend on @polyhead/rotary',
    ],
    [
      'a peer at another version',
      adapter({ peerDependencies: { ...peers(), '@tensorflow/tfjs-layers': '*' } }),
      'the peer @tensorflow/tfjs-layers must be "^4.22.0"',
    ],
    [
      'no engine',
      packageOf('one', 'files', { peerDependencies: {} }),
      'must have the peer @tensorflow/tfjs-core',
    ],
    [
      'keywords that say nothing of its own',
      packageOf('one', 'tool', { keywords: ['tensorflow', 'tfjs', 'attention'] }),
      'keywords must begin with',
    ],
    ['nobody who made it', packageOf('one', 'tool', { author: '' }), 'author must be'],
    [
      'a variant that depends on a cache',
      packageOf('one', 'variant', { dependencies: { '@polyhead/rows': 'workspace:^' } }),
      'must not depend on @polyhead/rows',
    ],
    ['an app that is published', packageOf('one', 'app'), 'must be private'],
    [
      'a core that depends on its tests',
      packageOf('core', 'core', { dependencies: {} }),
      'must not depend on @polyhead/conformance: a cycle',
    ],
  ])('%s', (_, subject, problem) => expect(broken(subject).join('\n')).toContain(problem));
});
