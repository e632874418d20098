// A model's weights as floats and as blocks of its file, multiplied by TensorFlow.js and by @polyhead/dense. Each in a process of
// its own: a heap only grows.
import { fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What weights are, and what multiplies with them. */
export const weightForms = {
  'floats, tfjs': { keepBlocks: false, isDense: false, in8Bits: false },
  'floats, dense': { keepBlocks: false, isDense: true, in8Bits: false },
  'floats made int8, dense': { keepBlocks: false, isDense: true, in8Bits: true },
  'blocks as in the file, dense': { keepBlocks: true, isDense: true, in8Bits: false },
} as const;

export type FormName = keyof typeof weightForms;

/** What a process is to time. */
export interface FormJob {
  readonly form: FormName;
  /** Of a GGUF file. */
  readonly path: string;
  /** Tokens of the prompt. */
  readonly ids: readonly number[];
  /** How many follow the first. */
  readonly tokens: number;
  /** Tokens that logits are of. */
  readonly text: readonly number[];
}

export interface FormTimes {
  /** From the closed file to the first token, in milliseconds. */
  readonly firstToken: number;
  /** Tokens a second behind it. */
  readonly generated: number;
  /** What the heap of the backend has grown by, over the bytes of the file. */
  readonly memory: number;
  /** Behind each token of the text: [tokens][V]. */
  readonly logits: readonly Float32Array[];
}

/** @throws where a process ends without an answer */
export function timeForm(job: FormJob): Promise<FormTimes> {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const program = fileURLToPath(new URL('./weight-form-program.ts', import.meta.url));
  const child = fork(program, [JSON.stringify(job)], {
    execArgv: ['--conditions=@polyhead/source', '--import', loader],
    serialization: 'advanced', // logits are many numbers
  });
  return new Promise((resolve, reject) => {
    child.on('message', (times) => resolve(times as FormTimes));
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      reject(new Error(`${job.form}: the process has ended: ${signal ?? `exit code ${code}`}`)),
    );
  });
}
