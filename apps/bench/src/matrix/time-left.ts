// How far a long run is: a bar, the time that it has taken, and what it will take by what it has.

const cells = 20;

export interface Bar {
  /** Part `n` was done before: it takes no time. */
  skip(n: number): void;
  /** While part `n` is done to a share of it, parts before it done. */
  text(n: number, share: number, title: string): string;
}

/** @param weights what each part takes beside the others */
export function barOf(weights: readonly number[], now: () => number = () => performance.now()): Bar {
  const start = now();
  const left = [...weights];
  const sum = (list: readonly number[]) => list.reduce((total, weight) => total + weight, 0);
  const all = sum(weights);
  return {
    skip: (n) => {
      left[n] = 0;
    },
    text(n, share, title) {
      const elapsed = (now() - start) / 1000;
      const current = share * left[n]!;
      const measured = sum(left.slice(0, n)) + current;
      const ahead = sum(left.slice(n)) - current;
      const filled = Math.floor((cells * (all - ahead)) / all);
      const rest = measured > 0 ? `, about ${clock((elapsed * ahead) / measured)} left` : '';
      return (
        `${'█'.repeat(filled)}${'░'.repeat(cells - filled)} ${n + 1}/${weights.length}, ` +
        `${clock(elapsed)} gone${rest}: ${title}`
      );
    },
  };
}

/** Minutes and seconds. */
function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${`${whole % 60}`.padStart(2, '0')}`;
}
