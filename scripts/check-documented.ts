// Every public member of the published packages has a sentence. Prints those that have none, and fails.
import { Application, Logger, LogLevel } from 'typedoc';
import { doorsOf, readPackages } from './packages';

class Problems extends Logger {
  readonly lines = new Set<string>();

  override log(message: string, level: LogLevel): void {
    if (level < LogLevel.Warn) return;
    if (message.includes('.__type.')) return; // the sentence of what has that type says it
    if (message.startsWith('The relative path')) return; // a shape before a parenthesis is no link
    this.lines.add(message.replace(/, does not have any documentation$/, ''));
  }
}

const published = readPackages(['packages']).filter(({ manifest }) => manifest.private !== true);
const app = await Application.bootstrap({
  entryPoints: published.flatMap(doorsOf),
  packagesRequiringDocumentation: published.map(({ manifest }) => manifest.name ?? ''),
  readme: 'none',
  excludeExternals: true,
  excludePrivate: true,
  skipErrorChecking: true,
  validation: { notDocumented: true, invalidLink: true, notExported: false },
});
const problems = new Problems();
app.logger = problems;
const project = await app.convert();
if (!project) throw new Error('TypeDoc cannot read the packages');
app.validate(project);

for (const line of problems.lines) console.error(line);
console.log(`${published.length} packages, ${problems.lines.size} members without a sentence`);
process.exitCode = problems.lines.size > 0 ? 1 : 0;
