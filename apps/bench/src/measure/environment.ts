// What the numbers were measured on.
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';
import * as tf from '@tensorflow/tfjs-core';

export interface Environment {
  readonly tfjs: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** Short hash, with `+` where the working tree differs; absent outside a git checkout. */
  readonly commit?: string;
}

export function readEnvironment(): Environment {
  const commit = readCommit();
  return {
    tfjs: tf.version_core,
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    ...(commit === undefined ? {} : { commit }),
  };
}

function readCommit(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+');
  } catch {
    return undefined; // no git, or no commit yet
  }
}
