// jax-js on its WebAssembly backend, driven by child-process.ts.
import { importPeer, peerVersions } from '../../../../../scripts/peers/import-peer';
import { readJob, serve } from '../child-program';

/** What of it is used. An array belongs to the function it is given to, except by `ref`. */
interface Jax {
  readonly init: () => Promise<unknown>;
  readonly defaultDevice: (name: 'wasm') => void;
  readonly jit: (f: Attention) => Attention;
  readonly numpy: { array(numbers: Float32Array): JaxArray };
  readonly nn: { dotProductAttention(...args: [...Parameters<Attention>, { isCausal: boolean }]): JaxArray };
}

type Attention = (query: JaxArray, key: JaxArray, value: JaxArray) => JaxArray;

interface JaxArray {
  readonly ref: JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  transpose(axes: readonly number[]): JaxArray;
  blockUntilReady(): Promise<JaxArray>;
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}

const { work, folder, inputs } = readJob();

await serve(folder, async () => {
  const { defaultDevice, init, jit, nn, numpy } = (await importPeer('@jax-js/jax')) as Jax;
  await init();
  defaultDevice('wasm');
  const { heads, keyValueHeads, queries, keys, headDim, causal } = work;
  const tokensFirst = (numbers: Float32Array, H: number, S: number) =>
    numpy.array(numbers.slice()).reshape([H, S, headDim]).transpose([1, 0, 2]);
  const query = tokensFirst(inputs.query, heads, queries);
  const key = tokensFirst(inputs.key, keyValueHeads, keys);
  const value = tokensFirst(inputs.value, keyValueHeads, keys);
  const attention = jit((q, k, v) => nn.dotProductAttention(q, k, v, { isCausal: causal }));
  return {
    op: 'dotProductAttention, jit',
    version: peerVersions['@jax-js/jax'], // the package itself does not say
    run: () => attention(query.ref, key.ref, value.ref).blockUntilReady(),
    numbers: async (output) => [(await output.ref.transpose([1, 0, 2]).data()) as Float32Array],
    dispose: (output) => output.dispose(),
  };
});
