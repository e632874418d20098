// Jest, which takes ES modules with one flag of Node (docs/install.md).
import { run } from './command';
import { jestTest } from './programs';
import { type Project, write } from './project';
import { type NodeVersion, pathOf, toolFile } from './tools';

export function runJest(project: Project, node: NodeVersion): void {
  write(project, 'decode.test.js', jestTest);
  const args = ['--experimental-vm-modules', toolFile('jest', 'bin/jest.js'), '--rootDir', project.folder];
  run(node.program, [...args, '--transform', '{}'], { cwd: project.folder, env: pathOf(node) });
}
