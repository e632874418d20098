// Measurements that are compared with each other.

/**
 * What each job gives, run after run. The jobs take turns, in reverse order at every other one, so that whatever else
 * the machine does falls on all of them alike.
 *
 * @returns one list a job
 */
export async function takeTurns<T>(
  jobs: readonly (() => Promise<T>)[],
  runs: number,
  onRun: (done: number, total: number) => void = () => {},
): Promise<T[][]> {
  const results = jobs.map((): T[] => []);
  const order = jobs.map((job, n) => ({ job, n }));
  for (let run = 0; run < runs; run++) {
    onRun(run, runs);
    for (const { job, n } of order) results[n]!.push(await job());
    order.reverse();
  }
  return results;
}
