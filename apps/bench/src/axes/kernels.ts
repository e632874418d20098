// The kernels that are compared. An entry here is all that a kernel needs to be measured wherever it runs.
import { availableParallelism } from 'node:os';
import { type AttentionKernel, composed, firstSupported } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { flashCpu } from '@polyhead/flash/cpu';
import { flashWasm } from '@polyhead/flash/wasm';
import * as tf from '@tensorflow/tfjs-core';
import type { BackendName } from '../backends/backend-name';

export interface ComparedKernel {
  readonly name: string;
  /** Where it is measured; default: everywhere. */
  readonly backends?: readonly BackendName[];
  create(): AttentionKernel;
  /** More than one: its processor time is not comparable. Default: 1. */
  readonly threads?: number;
  /** What it must say of a call to be what its name says: an engine may not have it. */
  readonly says?: RegExp;
}

const threads = Math.max(2, availableParallelism());

export const kernels: readonly ComparedKernel[] = [
  { name: 'best', create: () => firstSupported([flash(), composed()]) },
  { name: 'composed', create: () => composed() },
  { name: 'flash cpu', create: () => flashCpu() },
  { name: 'flash plain', backends: ['wasm'], create: () => flashWasm({ relaxedSimd: false }) },
  {
    name: 'flash relaxed',
    backends: ['wasm'],
    create: () => flashWasm({ relaxedSimd: true }),
    says: /relaxed SIMD/,
  },
  {
    name: 'flash threads',
    backends: ['wasm'],
    threads,
    create: () => flashWasm({ threads }),
  },
];

/**
 * Ready to run on the current backend, or why it does not.
 *
 * @returns a kernel that the caller disposes, or a reason
 */
export async function startKernel({ name, backends, create, says }: ComparedKernel) {
  const backend = tf.getBackend() as BackendName;
  if (backends && !backends.includes(backend))
    return { reason: `${name} is made for ${backends.join(', ')}` };
  const kernel = create();
  try {
    await kernel.prepare?.();
  } catch (error) {
    return { reason: `${name} does not start: ${(error as Error).message}` };
  }
  if (says && !notesOf(kernel).some((note) => says.test(note))) {
    kernel.dispose?.();
    return { reason: `this engine does not have what ${name} needs` };
  }
  return { kernel };
}

function notesOf(kernel: AttentionKernel): readonly string[] {
  const head = tf.zeros<tf.Rank.R4>([1, 1, 1, 1]);
  const [said] = firstSupported([kernel]).explain({ query: head, key: head, value: head });
  head.dispose();
  return said?.notes ?? [];
}
