// onnxruntime as a contestant: its native build for Node, and its WebAssembly build.
import type { InferenceSession, TypedTensor } from 'onnxruntime-common';
import { firstLine } from '../../../../../scripts/backends/errors';
import { importPeer } from '../../../../../scripts/peers/import-peer';
import { timed } from '../../measure/timed';
import type { Arena, Enter } from '../arena';
import type { Contestant, Entry } from '../contestant';
import { type OnnxOp, onnxOps } from '../onnx-attention';
import { type OnnxGraph, onnxModel } from '../onnx-model';
import type { Feed, OnnxWork } from '../onnx-work';

export const onnxruntimeNode = 'onnxruntime-node';
export const onnxruntimeWeb = 'onnxruntime-web';

export const onnxPeers = [onnxruntimeWeb, onnxruntimeNode] as const;
export type OnnxPeer = (typeof onnxPeers)[number];

/** What both builds export. */
type Library = Pick<typeof import('onnxruntime-common'), 'InferenceSession' | 'Tensor' | 'env'>;

/** One of its builds, loaded. */
export interface Onnxruntime {
  readonly names: { readonly peer: OnnxPeer; readonly version?: string };
  open(graph: OnnxGraph): Promise<InferenceSession>;
  tensor(feed: Feed): TypedTensor<Feed['type']>;
}

/** @throws Error where the package is not installed */
export async function loadOnnxruntime(peer: OnnxPeer, threads: number): Promise<Onnxruntime> {
  const { InferenceSession, Tensor, env } = (await importPeer(peer)) as Library;
  const version = peer === onnxruntimeNode ? env.versions.node : env.versions.web;
  if (peer === onnxruntimeWeb) env.wasm.numThreads = threads; // fixed by the first session
  return {
    names: { peer, ...(version !== undefined && { version }) },
    open: (graph) =>
      InferenceSession.create(onnxModel(graph), {
        ...(peer === onnxruntimeWeb && { executionProviders: ['wasm'] }),
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: 3,
      }),
    tensor: ({ type, data, dims }) => new Tensor(type, data, dims) as TypedTensor<Feed['type']>,
  };
}

type Rules = Pick<Arena, 'threads' | 'check'> & { /** Calls of a turn. */ readonly times?: number };

/** Each work as a contestant, or in one line why it is none. */
export async function onnxEntries(
  peer: OnnxPeer,
  works: readonly OnnxWork[],
  rules: Rules,
): Promise<readonly Entry[]> {
  try {
    const runtime = await loadOnnxruntime(peer, rules.threads);
    return await Promise.all(works.map((work) => openWork(runtime, work, rules)));
  } catch (error) {
    return [{ peer, reason: firstLine(error) }];
  }
}

async function openWork(
  runtime: Onnxruntime,
  { name, graph, feeds, read = (output) => output }: OnnxWork,
  { check, times = 1 }: Rules,
): Promise<Entry> {
  const names = { ...runtime.names, op: name };
  try {
    const session = await runtime.open(graph);
    const tensors = Object.fromEntries(feeds.map((feed) => [feed.name, runtime.tensor(feed)]));
    const runAll = async () => {
      for (let n = 0; n < times; n++) await session.run(tensors);
    };
    const contestant: Contestant = {
      ...names,
      turn: async () => (await timed(runAll)).turn,
      async error() {
        const { output } = await session.run(tensors);
        return check([read(output!.data as Float32Array)]);
      },
      dispose: () => session.release(),
    };
    return contestant;
  } catch (error) {
    return { ...names, reason: `it fails: ${firstLine(error)}` };
  }
}

const attentionOf =
  (peer: OnnxPeer, ops: readonly OnnxOp[]): Enter =>
  ({ work, inputs, ...rules }) =>
    onnxEntries(
      peer,
      ops.flatMap((op) => onnxOps[op](work, inputs) ?? []),
      rules,
    );

export const onnxruntimeNodeOps = attentionOf(onnxruntimeNode, [
  'MultiHeadAttention',
  'Attention',
  'Attention, folded',
  'GroupQueryAttention',
]);

/** Its GroupQueryAttention takes seconds. */
export const onnxruntimeWebOps = attentionOf(onnxruntimeWeb, [
  'MultiHeadAttention',
  'Attention',
  'Attention, folded',
]);
