// The addon between Node and TensorFlow's library: one command compiles what the package brings as source.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { addonFile, tensorFlowFolder } from '../backends/tensorflow';
import { compiler, runTool, say } from './tools';

/** The folder of the package of the backend, once it is installed. */
export function packageFolder(name = '@tensorflow/tfjs-node-gpu'): string {
  return dirname(createRequire(join(tensorFlowFolder, 'package.json')).resolve(`${name}/package.json`));
}

/**
 * Puts the addon into the package; it loads the library from where that lies.
 *
 * @throws ToolError where it does not compile
 */
export function buildAddon(library: string): void {
  const folder = packageFolder();
  const args = compilerArguments(library);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const key = createHash('sha256')
    .update(JSON.stringify([version, args]))
    .digest('hex')
    .slice(0, 12);
  const built = join(library, `tfjs_binding-${key}.node`);
  if (existsSync(built)) {
    say('addon: in the cache');
  } else {
    say(`addon: compiling with ${compiler}`);
    const output = `${built}.${process.pid}`;
    runTool(compiler, [...args, '-o', output], {
      cwd: folder,
      failure: 'the addon does not compile (see above)',
    });
    renameSync(output, built);
  }
  const addon = join(folder, addonFile);
  mkdirSync(dirname(addon), { recursive: true });
  copyFileSync(built, addon);
}

/** For any version of Node: the headers are those of Node-API 8. */
function compilerArguments(library: string): string[] {
  const lib = join(library, 'tensorflow');
  return [
    ...['-std=c++17', '-O2', '-fPIC', '-shared', '-DNAPI_VERSION=8'],
    `-I${relative(packageFolder(), packageFolder('node-api-headers'))}/include`, // the same in every clone
    `-I${join(lib, 'include')}`,
    ...['binding/tfjs_backend.cc', 'binding/tfjs_binding.cc'],
    ...['cc', 'framework'].map((part) => join(lib, `libtensorflow_${part}.so.2`)),
    ...['-Xlinker', '-rpath', '-Xlinker', lib],
  ];
}
