// jax-js on its WebAssembly backend, driven by child-process.ts.
import bench from '../../../package.json' with { type: 'json' };
import { readJob, serve } from '../child-program';

const { work, folder, inputs } = readJob();

await serve(folder, async () => {
  const { defaultDevice, init, jit, nn, numpy } = await import('@jax-js/jax');
  await init();
  defaultDevice('wasm');
  const { heads, keyValueHeads, queries, keys, headDim, causal } = work;
  const tokensFirst = (numbers: Float32Array, H: number, S: number) =>
    numpy.array(numbers.slice()).reshape([H, S, headDim]).transpose([1, 0, 2]);
  const query = tokensFirst(inputs.query, heads, queries);
  const key = tokensFirst(inputs.key, keyValueHeads, keys);
  const value = tokensFirst(inputs.value, keyValueHeads, keys);
  const attention = jit((q: typeof query, k: typeof key, v: typeof value) =>
    nn.dotProductAttention(q, k, v, { isCausal: causal }),
  );
  return {
    op: 'dotProductAttention, jit',
    version: bench.devDependencies['@jax-js/jax'], // the package itself does not say
    run: () => attention(query.ref, key.ref, value.ref).blockUntilReady(),
    numbers: async (output) => [(await output.ref.transpose([1, 0, 2]).data()) as Float32Array],
    dispose: (output) => output.dispose(),
  };
});
