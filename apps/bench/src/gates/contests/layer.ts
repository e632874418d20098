// A layer with rotary positions and a cache, beside what it cannot do without: its products, and attention of ready heads.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Turn } from '../../measure/timed';
import { bundled } from '../bundle';
import { Child } from '../child-process';
import type { Contest, Entered } from '../contest';
import type { Contestant } from '../contestant';
import type { Gate } from '../gate';
import { type LayerGreeting, type LayerWork, layerOps } from '../layer-work';
import { onnxPeers } from '../peers/onnxruntime';
import { polyhead } from '../peers/polyhead';
import { tfjsWasm } from '../peers/tfjs-wasm';

const require = createRequire(import.meta.url);
const program = new URL('../layer-program.ts', import.meta.url);

async function enterLayer(work: LayerWork, ops: readonly Op[]): Promise<Entered> {
  const file = fileURLToPath(await bundled(program, { withTfjs: true }));
  const wasmPath = `${dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json'))}/wasm-out/`;
  const child = new Child({ peer: polyhead, command: process.execPath, args: [file] }, { work, wasmPath });
  const { version, peers } = (await child.answer()) as LayerGreeting;
  const contestant = (key: string, names: Pick<Contestant, 'peer' | 'op' | 'version'>, isLayer: boolean) => ({
    ...names,
    turn: async () => (await child.ask({ turn: key })) as Turn,
    ...(isLayer && {
      error: async () => ((await child.ask({ error: key })) as { error: number }).error,
    }),
    dispose: () => {},
  });
  const entries = [
    ...ops.map((op) => {
      const names = op === layerOps.products ? { peer: tfjsWasm, version, op } : { peer: polyhead, op };
      return contestant(op, names, op === layerOps.layer || op === layerOps.dense);
    }),
    ...peers.map((peer) => ('reason' in peer ? peer : contestant(peer.peer, peer, true))),
  ];
  return { entries, dispose: () => void child.end() };
}

type Op = (typeof layerOps)[keyof typeof layerOps];

interface TokenSizes extends Pick<LayerWork, 'width' | 'heads' | 'keyValueHeads' | 'keys'> {
  readonly bound: number;
  readonly aim: number;
}

function token({ bound, aim, ...sizes }: TokenSizes): Contest {
  const { width, heads, keyValueHeads, keys } = sizes;
  const over: Gate = { ours: layerOps.layer, peer: tfjsWasm, measure: 'time' };
  return {
    work: `one token of a layer, ${width} wide, ${heads}/${keyValueHeads} heads, ${keys} keys (16 of them)`,
    runs: 300,
    gates: [
      { ...over, bound, aim },
      { ...over, ours: layerOps.dense },
      ...onnxPeers.map((peer): Gate => ({ ours: layerOps.dense, peer, measure: 'speed' })),
    ],
    enter: () =>
      enterLayer({ ...sizes, tokens: 1, calls: 16 }, [layerOps.layer, layerOps.dense, layerOps.products]),
  };
}

function prompt(
  tokens: number,
  [bound, aim, runs, calls]: readonly [number, number, number, number],
): Contest {
  const work = { width: 512, heads: 8, keyValueHeads: 8, tokens, keys: 0, calls };
  return {
    work: `prompt of ${tokens} tokens of a layer, 512 wide, 8 heads, rotary and cache`,
    runs,
    gates: [{ ours: layerOps.layer, peer: polyhead, ops: [layerOps.parts], measure: 'time', bound, aim }],
    enter: () => enterLayer(work, [layerOps.layer, layerOps.parts]),
  };
}

const smol = { width: 576, heads: 9, keyValueHeads: 3 };
const small = { width: 128, heads: 8, keyValueHeads: 2 };

export const layerContests: readonly Contest[] = [
  token({ ...smol, keys: 64, bound: 1.6, aim: 1 }),
  token({ ...smol, keys: 512, bound: 2.2, aim: 1.45 }),
  token({ ...small, keys: 64, bound: 2.8, aim: 0.9 }),
  token({ ...small, keys: 512, bound: 3.5, aim: 1.4 }),
  prompt(2048, [1.05, 1.03, 9, 1]),
  prompt(64, [1.12, 1.05, 60, 8]),
];
