// The last line of a test run, summed over all projects: `N passed, N failed`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';

/** Where `.ci/run` finds the line again. */
const record = fileURLToPath(new URL('../node_modules/.cache/polyhead/tests.txt', import.meta.url));

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    const skipped = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        count[result.state] += 1;
        if (result.state !== 'skipped') continue;
        const reason = `${test.project.name}: ${result.note ?? 'no reason given'}`;
        skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      }
      // A file that did not load, or a hook that threw, has no test to its name.
      for (const group of [module, ...module.children.allSuites()]) count.failed += group.errors().length;
    }
    const left = count.skipped + count.pending;
    const line = `${count.passed} passed, ${count.failed} failed${left ? `, ${left} skipped` : ''}`;
    mkdirSync(dirname(record), { recursive: true });
    writeFileSync(record, `${line}\n`);
    for (const [reason, times] of skipped) console.log(`skipped ${times} on ${reason}`);
    process.once('exit', () => console.log(line)); // after all that other reporters print
  }
}
