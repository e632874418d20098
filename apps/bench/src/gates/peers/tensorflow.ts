import type { Enter } from '../arena';
import { enterProgram } from '../child-process';
import { programOf } from '../child-program';

export const tensorflow = 'tensorflow';

/** `composed` on TensorFlow's own library, in another process: an engine computes on one backend at a time. */
export const composedOnTensorflow: Enter = async (arena) => {
  const threads = { TF_NUM_INTRAOP_THREADS: String(arena.threads), TF_NUM_INTEROP_THREADS: '1' };
  const script = new URL('tensorflow-program.ts', import.meta.url);
  return enterProgram(await programOf(tensorflow, script, threads), arena);
};
