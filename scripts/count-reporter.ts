// The end of a test run: what each project counts, and over all of them `N passed, N failed` as the last line.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Where `.ci/run` finds the line again. */
const record = fileURLToPath(new URL('../node_modules/.cache/polyhead/tests.txt', import.meta.url));

class Count {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly reasons = new Map<string, number>();
  /** The largest errors, as shares of what is allowed. */
  private results = 0;
  private gradients = 0;

  add(test: TestCase): void {
    const result = test.result();
    this[result.state === 'pending' ? 'skipped' : result.state] += 1;
    if (result.state === 'skipped') {
      const reason = result.note ?? 'no reason given';
      this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    }
    const { results = 0, gradients = 0 } = test.meta().precision ?? {};
    this.results = Math.max(this.results, results);
    this.gradients = Math.max(this.gradients, gradients);
  }

  row() {
    const { passed, failed, skipped, results, gradients } = this;
    const percent = (share: number) => (share > 0 ? `${Math.round(share * 100)} %` : '');
    return { passed, failed, skipped, results: percent(results), gradients: percent(gradients) };
  }
}

export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const projects = new Map<string, Count>();
    for (const module of modules) {
      const count = projects.get(module.project.name) ?? new Count();
      projects.set(module.project.name, count);
      for (const test of module.children.allTests()) count.add(test);
      // A file that did not load, or a hook that threw, has no test to its name.
      for (const group of [module, ...module.children.allSuites()]) count.failed += group.errors().length;
    }
    for (const [name, { reasons }] of projects) {
      for (const [reason, times] of reasons) console.log(`skipped ${times} on ${name}: ${reason}`);
    }
    console.table(Object.fromEntries([...projects].map(([name, count]) => [name, count.row()])));
    console.log('results, gradients: the largest error of composed, as a share of what is allowed');
    const sum = (of: 'passed' | 'failed' | 'skipped') =>
      [...projects.values()].reduce((total, count) => total + count[of], 0);
    const [failed, skipped] = [sum('failed') + unhandledErrors.length, sum('skipped')];
    const line = `${sum('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;
    mkdirSync(dirname(record), { recursive: true });
    writeFileSync(record, `${line}\n`);
    process.once('exit', () => console.log(line)); // after all that other reporters print
  }
}
