// How fast this machine's WebAssembly can multiply and read at all, measured in turn with those who attend.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { timed } from '../measure/timed';
import type { Arena } from './arena';
import { flopOf, keyValueBytes } from './attention-work';
import type { Contestant, Entry } from './contestant';

/** What assembly/limits.ts exports. */
interface Limits {
  flop(steps: number): number;
  multiplyThenAdd(steps: number, x: number, y: number): number;
  relaxedMultiplyAdd(steps: number, x: number, y: number): number;
  readMemory(bytes: number): number;
}

export const limitOfWasm = 'WASM limit';
const steps = 5_000_000; // some 10 ms
const readBytes = 256 * 2 ** 20; // larger than any cache
const pageBytes = 65_536;

let compiled: Promise<WebAssembly.Module | undefined> | undefined;

/** Undefined where this engine does not know relaxed SIMD. */
function compileLimits(): Promise<WebAssembly.Module | undefined> {
  compiled ??= compileAnew();
  return compiled;
}

async function compileAnew(): Promise<WebAssembly.Module | undefined> {
  const compiler = createRequire(import.meta.url).resolve('assemblyscript/bin/asc.js');
  const source = fileURLToPath(new URL('assembly/limits.ts', import.meta.url));
  const options = [
    '-O3',
    '--noAssert',
    '--runtime',
    'stub',
    '--importMemory',
    '--enable',
    'simd,relaxed-simd',
  ];
  const folder = mkdtempSync(join(tmpdir(), 'polyhead-gates-'));
  try {
    const output = join(folder, 'limits.wasm');
    await promisify(execFile)(process.execPath, [compiler, source, '-o', output, ...options]);
    const bytes = readFileSync(output);
    return WebAssembly.validate(bytes) ? await WebAssembly.compile(bytes) : undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function enterLimits(
  bytes: number,
  contestants: (limits: Limits, memory: WebAssembly.Memory) => readonly Contestant[],
): Promise<readonly Entry[]> {
  const module = await compileLimits();
  if (!module) return [{ peer: limitOfWasm, reason: 'this engine has no relaxed SIMD' }];
  const memory = new WebAssembly.Memory({ initial: Math.max(1, bytes / pageBytes) });
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
  return contestants(exports as unknown as Limits, memory);
}

/** The time that the operations of the work would take if there were nothing else to do. */
export function multiplyAddPeaks({ work }: Arena): Promise<readonly Entry[]> {
  return peaksOf(flopOf(work));
}

/** The time of so many operations. */
export function peaksOf(flop: number): Promise<readonly Entry[]> {
  return enterLimits(0, (limits) => {
    const share = flop / limits.flop(steps);
    return [
      limit('relaxed multiply-add', share, () => limits.relaxedMultiplyAdd(steps, 1e-3, 0.999)),
      limit('multiply, then add', share, () => limits.multiplyThenAdd(steps, 1e-3, 0.999)),
    ];
  });
}

/** The time that reading all keys and values once would take. */
export function memoryRead({ work }: Arena): Promise<readonly Entry[]> {
  return enterLimits(readBytes, (limits, memory) => {
    new Float32Array(memory.buffer).fill(1); // untouched pages are all one page of zeros
    return [limit('memory read', keyValueBytes(work) / readBytes, () => limits.readMemory(readBytes))];
  });
}

/** @param share of what is measured that the work needs */
function limit(op: string, share: number, measure: () => number): Contestant {
  return {
    peer: limitOfWasm,
    op,
    async turn() {
      const { turn } = await timed(measure);
      return { ms: turn.ms * share, cpuMs: turn.cpuMs * share };
    },
    dispose() {}, // the memory goes with the contestant
  };
}

const tries = 5;

/** The most operations and bytes a second of one thread; undefined where this engine has no relaxed SIMD. */
export async function measureWasmLimits(): Promise<{ flops: number; bytesPerSecond: number } | undefined> {
  const module = await compileLimits();
  if (!module) return undefined;
  const memory = new WebAssembly.Memory({ initial: readBytes / pageBytes });
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
  const limits = exports as unknown as Limits;
  new Float32Array(memory.buffer).fill(1); // untouched pages are all one page of zeros
  const fastest = async (run: () => number) => {
    const times: number[] = [];
    for (let n = 0; n < tries; n++) times.push((await timed(run)).turn.ms);
    return Math.min(...times) / 1000;
  };
  const seconds = await fastest(() => limits.relaxedMultiplyAdd(steps, 1e-3, 0.999));
  return {
    flops: limits.flop(steps) / seconds,
    bytesPerSecond: readBytes / (await fastest(() => limits.readMemory(readBytes))),
  };
}
