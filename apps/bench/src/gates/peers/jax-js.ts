import type { Enter } from '../arena';
import { enterProgram } from '../child-process';
import { programOf } from '../child-program';

const jaxJs = 'jax-js';

/** Iterator helpers, which it uses. */
const leastNode = 22;

/** In another process: where something has defined the browser's Worker, it wants threads, and fails. */
export const jaxAttention: Enter = async (arena) => {
  if (Number.parseInt(process.versions.node, 10) < leastNode) {
    return [{ peer: jaxJs, reason: `it needs Node ${leastNode}` }];
  }
  const program = await programOf(jaxJs, new URL('jax-js-program.ts', import.meta.url));
  return enterProgram(program, arena);
};
