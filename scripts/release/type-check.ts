// The declarations as published serve strict programs, of two versions of TypeScript, that resolve as Node does or as bundlers do.
import { run } from './command';
import { wronglyTyped } from './programs';
import { type Project, write } from './project';
import { toolFile } from './tools';

const compilers = { 'TypeScript 5.9': 'typescript-5.9', 'TypeScript 6.0': 'typescript' };
const resolutions = {
  nodenext: { module: 'NodeNext', files: ['example.ts', 'wrong.ts', 'wrong.cts'] },
  bundler: { module: 'ESNext', moduleResolution: 'Bundler', files: ['example.ts', 'wrong.ts'] },
};

/** @param project has an example.ts */
export function checkTypes(project: Project): void {
  write(project, 'wrong.ts', wronglyTyped);
  write(project, 'wrong.cts', wronglyTyped);
  for (const [compiler, name] of Object.entries(compilers)) {
    for (const [resolution, { files, ...options }] of Object.entries(resolutions)) {
      const file = `tsconfig.${name}.${resolution}.json`;
      const compilerOptions = {
        ...options,
        target: 'ES2022',
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck: true, // the declarations of tfjs-core need it
        types: [],
      };
      write(project, file, JSON.stringify({ compilerOptions, files }));
      const words = run(process.execPath, [toolFile(name, 'bin/tsc'), '--version'], { cwd: project.folder });
      if (!words.includes(compiler.split(' ')[1]!)) throw new Error(`${words.trim()} is not ${compiler}`);
      run(process.execPath, [toolFile(name, 'bin/tsc'), '-p', file], { cwd: project.folder });
    }
  }
}
