// Measures every backend of a browser and shows a table. Whoever drives the page gives it `reportRow`.
import * as tf from '@tensorflow/tfjs';
import { getThreadsCount } from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-webgpu';
import { firstLine } from '../../../../../scripts/backends/errors';
import { nameWasmFiles } from '../../../../../scripts/backends/page-wasm-files';
import { measureCosts } from '../costs';
import type { BackendRow } from '../row';

declare const reportRow: ((row: Omit<BackendRow, 'where'>) => Promise<void>) | undefined;

const options = new URLSearchParams(location.search);
const numberOf = (name: string, otherwise: number) => Number(options.get(name) ?? otherwise);
const backends = options.get('backends')?.split(',') ?? ['wasm', 'cpu', 'webgl', 'webgpu'];

async function outcomeOf(backend: string): Promise<BackendRow['outcome']> {
  try {
    if (!(await tf.setBackend(backend))) return { reason: 'it does not start here' };
    const device = await deviceOf(backend);
    return {
      device,
      costs: await measureCosts({ tokens: numberOf('tokens', 512), runs: numberOf('runs', 15) }),
    };
  } catch (error) {
    return { reason: firstLine(error) };
  }
}

async function deviceOf(backend: string): Promise<string> {
  if (backend === 'cpu') return 'plain JavaScript';
  if (backend === 'wasm') {
    if (!crossOriginIsolated) return 'SIMD, one thread: the page is not isolated';
    const threads = getThreadsCount();
    return `SIMD, ${threads} of ${navigator.hardwareConcurrency} threads, which share memory`;
  }
  if (backend === 'webgl') {
    const { gl } = (tf.backend() as unknown as { gpgpu: { gl: WebGLRenderingContext } }).gpgpu;
    const names = gl.getExtension('WEBGL_debug_renderer_info');
    return String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  }
  const { vendor, architecture, description } = (await navigator.gpu.requestAdapter())!.info;
  return description || `${vendor} ${architecture}`;
}

function show({ backend, outcome }: Omit<BackendRow, 'where'>): void {
  const row = document.querySelector('tbody')!.insertRow();
  const add = (text: string, kind = '') => {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.className = kind;
  };
  add(backend);
  if ('reason' in outcome) {
    add(`does not run: ${outcome.reason}`);
    return;
  }
  const { kernel, first, prefill, decode, training, error } = outcome.costs;
  add(outcome.device);
  add(kernel);
  for (const time of [first, prefill, decode, training]) add(time.toFixed(time < 10 ? 2 : 0), 'number');
  add(error.toExponential(0), 'number');
}

tf.enableProdMode();
nameWasmFiles();
for (const backend of backends) {
  const row = { backend, outcome: await outcomeOf(backend) };
  show(row);
  if (typeof reportRow !== 'undefined') await reportRow(row);
}
document.querySelector('#state')!.textContent = crossOriginIsolated
  ? 'Measured in an isolated page: wasm has threads.'
  : 'Measured in a page that is not isolated: wasm has one thread.';
