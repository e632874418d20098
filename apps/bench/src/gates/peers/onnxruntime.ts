// onnxruntime as a contestant: its native build for Node, and its WebAssembly build.
import { firstLine } from '../../../../../scripts/backends/errors';
import { importPeer } from '../../../../../scripts/peers/import-peer';
import { timed } from '../../measure/timed';
import type { Arena, Enter } from '../arena';
import type { Contestant, Entry } from '../contestant';
import { type OnnxAttention, type OnnxOp, onnxOps } from '../onnx-attention';
import { onnxModel } from '../onnx-model';

export const onnxruntimeNode = 'onnxruntime-node';
export const onnxruntimeWeb = 'onnxruntime-web';

/** What both builds export. */
type Runtime = Pick<typeof import('onnxruntime-common'), 'InferenceSession' | 'Tensor' | 'env'>;

interface Build {
  readonly peer: string;
  readonly runtime: Runtime;
  readonly version: string | undefined;
  readonly ops: readonly OnnxOp[];
  readonly options: { readonly executionProviders?: string[] };
}

/** @param load rejects where the package is not installed */
function enterRuntime(peer: string, load: (threads: number) => Promise<Omit<Build, 'peer'>>): Enter {
  return async (arena) => {
    let build: Build;
    try {
      build = { peer, ...(await load(arena.threads)) };
    } catch (error) {
      return [{ peer, reason: firstLine(error) }];
    }
    const able = build.ops.flatMap((op) => onnxOps[op](arena.work, arena.inputs) ?? []);
    return Promise.all(able.map((op) => openSession(build, op, arena)));
  };
}

export const onnxruntimeNodeOps = enterRuntime(onnxruntimeNode, async () => {
  const runtime = (await importPeer('onnxruntime-node')) as Runtime;
  return {
    runtime,
    version: runtime.env.versions.node,
    ops: ['MultiHeadAttention', 'Attention', 'Attention, folded', 'GroupQueryAttention'],
    options: {},
  };
});

export const onnxruntimeWebOps = enterRuntime(onnxruntimeWeb, async (threads) => {
  const runtime = (await importPeer('onnxruntime-web')) as Runtime;
  runtime.env.wasm.numThreads = threads; // fixed by the first session
  return {
    runtime,
    version: runtime.env.versions.web,
    ops: ['MultiHeadAttention', 'Attention', 'Attention, folded'], // GroupQueryAttention takes seconds
    options: { executionProviders: ['wasm'] },
  };
});

async function openSession(build: Build, op: OnnxAttention, { threads, check }: Arena): Promise<Entry> {
  const { peer, runtime, version, options } = build;
  const names = { peer, op: op.name, ...(version !== undefined && { version }) };
  try {
    const session = await runtime.InferenceSession.create(onnxModel(op.model), {
      ...options,
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      logSeverityLevel: 3,
    });
    const feeds = Object.fromEntries(
      op.feeds.map(({ name, type, data, dims }) => [name, new runtime.Tensor(type, data, dims)]),
    );
    const contestant: Contestant = {
      ...names,
      turn: async () => (await timed(() => session.run(feeds))).turn,
      async error() {
        const { output } = await session.run(feeds);
        return check([op.headsFirst(output!.data as Float32Array)]);
      },
      dispose: () => session.release(),
    };
    return contestant;
  } catch (error) {
    return { ...names, reason: `it fails: ${firstLine(error)}` };
  }
}
