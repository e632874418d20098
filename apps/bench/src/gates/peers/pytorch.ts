import { fileURLToPath } from 'node:url';
import type { Enter } from '../arena';
import { enterProgram } from '../child-process';

export const pytorch = 'PyTorch';

const script = fileURLToPath(new URL('pytorch-attention.py', import.meta.url));

/** Where `python3 -c "import torch"` works. */
export const pytorchOps: Enter = (arena) =>
  enterProgram({ peer: pytorch, command: 'python3', args: [script] }, arena);
